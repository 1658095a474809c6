/* lab_worker.js - the simulator's thread: WebAssembly that is asked one question at a time.
 *
 * It gets {wasm} once, base64 of the gzipped module, and answers {ready: the catalogue's text}; then
 * {ask: 'run', text}, {ask: 'code', text} or {ask: 'view', name, bytes}, each of which it answers by {answer, notes}. What
 * can't be answered is {failed: why}: the module may be in any state then, and so the worker ends. */
'use strict';

const SPENT = 1 << 29; // bytes: memory never shrinks, and so a worker that took as many is not asked again
const NOT_THERE = 44, BAD_DESCRIPTOR = 8; // WASI's errors
let simulator = null; // what the module exports
let notes = '';

const memory = () => new Uint8Array(simulator.memory.buffer);
const view = () => new DataView(simulator.memory.buffer);

/* A page has no files, no arguments and no environment; notes are what is written. */
const surroundings = {
    environ_get: () => 0,
    environ_sizes_get: (count, bytes) => {
        view().setUint32(count, 0, true);
        view().setUint32(bytes, 0, true);
        return 0;
    },
    clock_time_get: (id, precision, at) => {
        view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
    },
    fd_write: (file, parts, count, written) => {
        let all = 0;
        for (let i = 0; i < count; i++) {
            const at = view().getUint32((parts >>> 0) + 8 * i, true), length = view().getUint32((parts >>> 0) + 8 * i + 4, true);
            notes += new TextDecoder().decode(memory().slice(at, at + length));
            all += length;
        }
        view().setUint32(written >>> 0, all, true);
        return 0;
    },
    path_open: () => NOT_THERE,
    path_filestat_get: () => NOT_THERE,
    proc_exit: (code) => { throw new Error(`the simulator ended with ${code}`); },
};

async function unpack(base64) {
    const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

async function start(base64) {
    const module = await WebAssembly.compile(await unpack(base64.replace(/\s/g, '')));
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
        (imports[from] ??= {})[name] = surroundings[name] ?? (() => BAD_DESCRIPTOR);
    }
    simulator = (await WebAssembly.instantiate(module, imports)).exports;
    simulator._initialize();
}

/* Puts bytes into the module's memory, and gives their address back. */
function put(bytes) {
    const at = simulator.malloc(bytes.length + 1) >>> 0; // beyond 2 GiB it comes as a negative number
    if (at === 0) throw new Error('there is no memory for it on this page');
    memory().set(bytes, at);
    memory()[at + bytes.length] = 0;
    return at;
}

/* Takes an answer out of it. */
function take(answered) {
    const at = answered >>> 0;
    if (at === 0) throw new Error('the simulator ran out of memory');
    const bytes = memory(), text = new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
    simulator.free(at);
    return text;
}

function answer({ ask, text, name, bytes }) {
    const said = put(new TextEncoder().encode(text ?? name));
    let found;
    if (ask === 'run') {
        found = take(simulator.lab_run(said));
    } else if (ask === 'code') {
        found = take(simulator.lab_code(said));
    } else {
        const file = put(new Uint8Array(bytes));
        simulator.lab_drop(file, bytes.byteLength);
        found = take(simulator.lab_view(said));
        simulator.lab_drop(0, 0);
        simulator.free(file);
    }
    simulator.free(said);
    return found;
}

/* A reader has no use for the words of a trap. */
function reason(error) {
    if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        return 'the simulator ran out of memory, or of stack: try fewer tiles, or the command `pipeline`';
    }
    return error.message;
}

onmessage = async ({ data }) => {
    try {
        notes = '';
        if (data.wasm) {
            await start(data.wasm);
            postMessage({ ready: take(simulator.lab_catalogue()) });
        } else {
            const found = answer(data);
            const spent = memory().length > SPENT;
            postMessage({ answer: found, notes: notes.split('\n').filter(Boolean), spent });
            if (spent) close();
        }
    } catch (error) {
        postMessage({ failed: reason(error) });
        close();
    }
};
