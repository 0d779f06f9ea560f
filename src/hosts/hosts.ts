/**
 * Every host of this package as one: new places are opened on one of them, and those of the others are led as
 * well, since a setting may have changed while agents live.
 */
import { HostError } from '../errors.ts';
import type { HostKind } from './choose.ts';
import type { AgentHost, PlaceRef } from './host.ts';
import { createHerdrHost } from './herdr/host.ts';
import { createProcessHost } from './process.ts';
import { createTmuxHost } from './tmux/host.ts';

/** @param kind where new places are opened. */
export function createHosts(kind: HostKind): AgentHost {
  const hosts: Readonly<Record<HostKind, AgentHost>> = {
    process: createProcessHost(),
    tmux: createTmuxHost(),
    herdr: createHerdrHost(),
  };
  const all = Object.values(hosts);
  const chosen = hosts[kind];

  function of({ host, launchId }: PlaceRef): AgentHost {
    const found = all.find((one) => one.kind === host);
    if (found !== undefined) return found;
    throw new HostError(
      'host_unavailable',
      `${launchId} runs on "${host}", which is not known here.`,
    );
  }

  return {
    kind,
    hasTerminal: chosen.hasTerminal ?? false,
    open: (launch, signal) => chosen.open(launch, signal),
    async inspect(ref) {
      const host = all.find((one) => one.kind === ref.host);
      return host === undefined ? { presence: 'unknown' } : host.inspect(ref);
    },
    interrupt: async (ref) => of(ref).interrupt(ref),
    read: async (ref, options) => of(ref).read(ref, options),
    close: async (ref, options) => of(ref).close(ref, options),
    watch(listener) {
      const stops = all.map((host) => host.watch(listener));
      return () => {
        for (const stop of stops) stop();
      };
    },
    async adopt(ref) {
      const host = all.find((one) => one.kind === ref.host);
      return host === undefined ? { presence: 'unknown' } : host.adopt(ref);
    },
    async tidy(refs) {
      for (const host of all) await host.tidy?.(refs.filter((ref) => ref.host === host.kind));
    },
    dispose() {
      for (const host of all) host.dispose();
    },
  };
}
