/** A list of which only what can be seen is drawn; every row has the same height. */
import { h, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface WindowedListProps {
  readonly label: string;
  readonly count: number;
  /** px */
  readonly rowHeight: number;
  readonly row: (index: number) => JSX.Element;
  /** The row that is to be in view; a list that follows has its last one. */
  readonly inView: number | undefined;
  readonly empty: string;
}

/** Rows that are drawn above and below what can be seen. */
const margin = 6;

export function WindowedList(props: WindowedListProps): JSX.Element {
  const { label, count, rowHeight, row, inView, empty } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(() => setHeight(element.clientHeight));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || inView === undefined || inView < 0) return;
    const from = inView * rowHeight;
    const isAbove = from < element.scrollTop;
    const isBelow = from + rowHeight > element.scrollTop + element.clientHeight;
    if (isAbove) element.scrollTop = from;
    else if (isBelow) element.scrollTop = from + rowHeight - element.clientHeight;
  }, [inView, rowHeight, count, height]);

  const first = Math.max(0, Math.floor(top / rowHeight) - margin);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + margin);
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, index) => row(first + index));
  return h(
    'div',
    {
      class: 'list',
      ref: box,
      role: 'list',
      'aria-label': label,
      tabIndex: 0,
      onScroll: (event: Event) => setTop((event.currentTarget as HTMLElement).scrollTop),
    },
    count === 0
      ? h('p', { class: 'empty' }, empty)
      : h(
          'div',
          { class: 'list-all', style: { height: `${count * rowHeight}px` } },
          h('div', { style: { transform: `translateY(${first * rowHeight}px)` } }, shown),
        ),
  );
}
