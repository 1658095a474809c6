// run.mjs - runs a WebAssembly program with arguments, as a command is run: node run.mjs FILE ARGUMENT...
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const [file, ...args] = process.argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: ['walk', ...args] });
const { instance } = await WebAssembly.instantiate(await readFile(file), wasi.getImportObject());
process.exit(wasi.start(instance));
