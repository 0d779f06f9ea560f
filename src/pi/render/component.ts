/** Components that Pi draws: text that changes only with the width and the theme. */

/** What Pi needs of a component. */
export interface TextComponent {
  render(width: number): readonly string[];
  invalidate(): void;
}

/** Draws once for each width, however often Pi asks: it does so with every frame. */
export function drawn(draw: (width: number) => readonly string[]): TextComponent {
  let lines: readonly string[] | undefined;
  let drawnWidth = 0;
  return {
    invalidate() {
      lines = undefined;
    },
    render(width) {
      if (lines === undefined || width !== drawnWidth) {
        lines = draw(width);
        drawnWidth = width;
      }
      return lines;
    },
  };
}
