// page.mjs - the library as a page loads it calls nothing of its surroundings, and simulates a run there.
//
//     node page.mjs pipeline.wasm
import assert from 'node:assert';
import { readFile } from 'node:fs/promises';

const module = new WebAssembly.Module(await readFile(process.argv[2]));

// The C library's snprintf() brings the functions of its streams along. None may be called.
const surroundings = {};
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    assert.match(name, /^(fd_(close|seek|write|fdstat_get)|proc_exit)$/, 'a pure library asks for no such thing');
    (surroundings[from] ??= {})[name] = () => assert.fail(`${name} was called`);
}
const { exports } = new WebAssembly.Instance(module, surroundings);
exports._initialize();

function string(text) {
    const bytes = new TextEncoder().encode(text + '\0');
    const at = exports.malloc(bytes.length);
    new Uint8Array(exports.memory.buffer).set(bytes, at);
    return at;
}

function text(at) {
    const bytes = new Uint8Array(exports.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
}

const run = exports.pipeline_new();
const error = exports.malloc(1024);
assert.ok(exports.pipeline_set(run, string('streams'), string('1'), error));
assert.ok(exports.pipeline_simulate(run, error), text(error));
const serial = exports.pipeline_time_ns(run);
assert.ok(exports.pipeline_set(run, string('streams'), string('4'), error));
assert.ok(exports.pipeline_simulate(run, error), text(error));
const overlapped = exports.pipeline_time_ns(run);
assert.ok(overlapped > 0n && overlapped < serial, `${overlapped} against ${serial}`);
assert.ok(!exports.pipeline_set(run, string('streams'), string('many'), error));
assert.match(text(error), /many/);
exports.pipeline_free(run);
console.log(`library: as a page loads it, version ${text(exports.pipeline_version())} simulates and calls nothing outside`);
