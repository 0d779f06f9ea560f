/** `npm run docs`: writes the documents that are made from the code. */
import { writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { toolsDocument } from './tools-document.ts';

const file = new URL('../../docs/tools.md', import.meta.url).pathname;
const options = await resolveConfig(file);
writeFileSync(file, await format(toolsDocument(), { ...options, filepath: file }));
