/* lab_engine.js - asks the simulator, which runs in a worker of its own (lab_worker.js), so that the page
 * stays alive while it works, and whatever becomes of it. */
'use strict';

const engine = (() => {
    const text = (id) => document.getElementById(id).textContent;
    let worker = null;
    let ready = null; // a promise of the catalogue: the worker that there is can be asked
    let last = Promise.resolve(); // settles when the question before is answered
    let fail = null; // ends the question that is being answered

    function drop() {
        worker?.terminate();
        worker = ready = null;
    }

    /* Sends `message`, and waits for what comes back. */
    function send(message, transfer = []) {
        return new Promise((resolve, reject) => {
            fail = (why) => {
                fail = null;
                drop();
                reject(new Error(why));
            };
            worker.onmessage = ({ data }) => {
                if (data.failed !== undefined) return fail(data.failed);
                fail = null;
                return resolve(data);
            };
            worker.onerror = (event) => {
                event.preventDefault();
                fail(`the simulator does not work here: ${event.message || 'this browser keeps its worker from starting'}`);
            };
            worker.postMessage(message, transfer);
        });
    }

    async function begin() {
        if (typeof WebAssembly !== 'object') {
            throw new Error('this browser has no WebAssembly, or its settings forbid it: the simulator can\'t run here');
        }
        if (typeof DecompressionStream !== 'function') {
            throw new Error('this browser is too old to unpack the simulator: it has no DecompressionStream');
        }
        const address = URL.createObjectURL(new Blob([text('worker')], { type: 'text/javascript' }));
        try {
            worker = new Worker(address);
        } catch (error) {
            throw new Error(`this browser forbids the page a worker, in which the simulator runs: ${error.message}`);
        }
        const { ready: catalogue } = await send({ wasm: text('wasm') });
        URL.revokeObjectURL(address);
        return JSON.parse(catalogue);
    }

    function start() {
        ready ??= begin().catch((error) => {
            drop();
            throw error;
        });
        return ready;
    }

    /* The page's settings have no file: errors are less its name and its lines. */
    const plain = (why) => why.replace(/^(run [^:]*: )?lab:\d+: /, '$1').replace(/ \(lab:\d+\)/g, '');

    /* Questions wait for one another; each finds a worker, also where the one before lost it. */
    function ask(message, transfer) {
        const asked = last.then(async () => {
            await start();
            const { answer, notes, spent } = await send(message, transfer);
            if (spent) drop();
            const data = JSON.parse(answer);
            if (data.error !== undefined) throw Object.assign(new Error(plain(data.error)), { refused: data.refused });
            return Object.assign(data, { notes });
        });
        last = asked.catch(() => {});
        return asked;
    }

    return {
        start,
        run: (config) => ask({ ask: 'run', text: config }),
        code: (config) => ask({ ask: 'code', text: config }),
        view: (name, bytes) => ask({ ask: 'view', name, bytes }, [bytes]),
        stop: () => fail?.('stopped'),
    };
})();
