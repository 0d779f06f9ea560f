/** Follows the session: steps as they come, names when somebody new appears, and whether it still lives. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { NamesReport, RowReport, SessionReport } from '../report.ts';
import { ask } from './ask.ts';
import { appendRows, createHistory, type History } from './history.ts';
import { createNames, type Names } from './text.ts';

export interface Live {
  readonly history: History;
  /** Rises with each piece of the journal. */
  readonly version: number;
  readonly names: Names;
  readonly report: NamesReport;
  readonly session: SessionReport | undefined;
  /** Whether the server can be reached. */
  readonly isConnected: boolean;
}

const noNames: NamesReport = { agents: [], tasks: [] };
/** The owner may die without a step. */
const askOwnerEveryMs = 3_000;

export function useLive(): Live {
  const history = useMemo(createHistory, []);
  const [version, setVersion] = useState(0);
  const [report, setReport] = useState<NamesReport>(noNames);
  const [session, setSession] = useState<SessionReport | undefined>(undefined);
  const [isConnected, setConnected] = useState(true);
  const known = useRef(0);

  useEffect(() => {
    const source = new EventSource('./api/live');
    source.addEventListener('open', () => setConnected(true));
    source.addEventListener('error', () => setConnected(false));
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      appendRows(history, JSON.parse(data) as RowReport[]);
      setVersion(history.rows.length);
    });
    return () => source.close();
  }, []);

  useEffect(() => {
    if (history.actors.size === known.current) return;
    known.current = history.actors.size;
    void ask<NamesReport>('names').then(
      (found) => setReport(found ?? noNames),
      () => undefined,
    );
  }, [version]);

  useEffect(() => {
    const look = (): void => {
      ask<SessionReport>('session').then(setSession, () => setConnected(false));
    };
    look();
    const timer = setInterval(look, askOwnerEveryMs);
    return () => clearInterval(timer);
  }, []);

  const names = useMemo(() => createNames(report), [report]);
  return { history, version, names, report, session, isConnected };
}
