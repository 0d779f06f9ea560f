/**
 * The child of the host tests, a program of its own: `node child.ts <behaviour>`.
 *
 * Every behaviour prints `ready`, echoes what it reads and stays until it is ended, unless said
 * otherwise below.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [behaviour = 'obey', argument = ''] = process.argv.slice(2);

/** A process that ignores polite signals and lives for a minute; prints its pid. */
function startGrandchild(detached: boolean): void {
  const script = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {}); setTimeout(() => {}, 60_000);
    process.stdout.write('grandchild ' + process.pid + '\\n');`;
  spawn(process.execPath, ['-e', script], { detached, stdio: ['ignore', 'inherit', 'ignore'] });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function event(type: string, fields: object = {}): void {
  say(JSON.stringify({ type, ...fields }));
}

// Exits with a code on request; Node keeps SIGUSR1 to itself.
process.on('SIGUSR2', () => process.exit(3));

switch (behaviour) {
  case 'obey':
    process.on('SIGTERM', () => {
      say('bye');
      process.exit(143);
    });
    break;
  case 'stubborn':
    process.on('SIGTERM', () => say('no'));
    startGrandchild(false);
    startGrandchild(true);
    break;
  case 'leave':
    // Ends on `go` and leaves a grandchild in its process group.
    startGrandchild(false);
    break;
  case 'fail':
    process.stderr.write('no such model\n');
    process.exit(1);
    break;
  case 'chat':
    event('message_update', { delta: 'x'.repeat(1000) });
    event('message_end', {
      message: {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'secret thought' },
          { type: 'text', text: 'I look.\u2028Then I tell.' },
          { type: 'toolCall', name: 'read', arguments: { path: 'a.txt' } },
        ],
      },
    });
    event('tool_execution_update', { partialResult: 'x'.repeat(1000) });
    event('message_end', {
      message: {
        role: 'toolResult',
        toolName: 'read',
        isError: true,
        content: [{ type: 'text', text: 'no such file\nat line 1' }],
      },
    });
    event('agent_settled');
    process.stderr.write('\u001B[33mcareful\u001B[0m\n');
    break;
  case 'flood': {
    const lines = Number(argument);
    for (let line = 0; line < lines; line += 1) say(`line ${line} ${'.'.repeat(80)}`);
    say('x'.repeat(1_500_000));
    process.stderr.write('e'.repeat(100_000));
    break;
  }
  case 'ask':
    event('extension_ui_request', { id: 'n1', method: 'notify', message: 'hello' });
    event('extension_ui_request', { id: 'd1', method: 'confirm', title: 'Delete it?' });
    event('extension_ui_request', { id: 'd2', method: 'input', title: 'Soon?', timeout: 1 });
    break;
  case 'environment':
    say(JSON.stringify(process.env));
    break;
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'go') process.exit(0);
  say(`got ${line}`);
});
// The input must never end with the parent: a child that sees the end says so.
process.stdin.on('end', () => say('end of input'));
setInterval(() => undefined, 60_000);
say('ready');
