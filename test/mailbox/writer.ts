/** A child process that sends numbered messages and prints the id of each accepted one. */
import { createIdMaker, SHEPHERD_ID } from '../../src/ids.ts';
import { readIdentity } from '../../src/mailbox/capability.ts';
import { createChildMailbox } from '../../src/mailbox/child-mailbox.ts';

const [identityPath = '', count = '0'] = process.argv.slice(2);
const child = createChildMailbox(readIdentity(identityPath), {
  now: Date.now,
  ids: createIdMaker(),
});
for (let n = 0; n < Number(count); n += 1) {
  const id = child.send({
    kind: 'message',
    targetId: SHEPHERD_ID,
    content: String(n),
    delivery: 'followUp',
  });
  process.stdout.write(`${id}\n`);
}
