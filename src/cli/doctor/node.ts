/** Whether this Node can run a session: its version, and the database that comes with it. */
import type * as Sqlite from 'node:sqlite';
import { describeError } from '../../errors.ts';
import type { Check } from './report.ts';

/** As `engines` of the package says; Pi 1.6 needs it too. */
const leastNode = [22, 19] as const;
const fix = `Install Node ${leastNode.join('.')} or later (https://nodejs.org, or: nvm install 24) and run sheepfold and pi with it.`;

export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
}

export function checkNode(version: string): Check {
  return isNodeSupported(version)
    ? { about: 'node', status: 'ok', message: version, fix: null }
    : {
        about: 'node',
        status: 'fail',
        message: `${version}; sessions and Pi need ${leastNode.join('.')} or later`,
        fix,
      };
}

/** Opens a database in memory: a Node may have been built without SQLite, or want a flag for it. */
export function checkSqlite(): Check {
  try {
    // Its type knows this Node only; an older one has no such module, or not even the function.
    const sqlite = process.getBuiltinModule('node:sqlite') as typeof Sqlite | undefined;
    if (sqlite === undefined) {
      const message = 'this Node has none; a session keeps its state in it';
      return { about: 'sqlite', status: 'fail', message, fix };
    }
    const database = new sqlite.DatabaseSync(':memory:');
    const row = database.prepare('SELECT sqlite_version() AS version').get();
    database.close();
    return { about: 'sqlite', status: 'ok', message: String(row?.['version']), fix: null };
  } catch (error) {
    const message = `does not work: ${describeError(error)}`;
    return { about: 'sqlite', status: 'fail', message, fix };
  }
}
