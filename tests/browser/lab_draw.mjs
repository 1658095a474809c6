// lab_draw.mjs - settings of runs, drawn at random from the catalogue that the lab page chooses from.
// The same seed draws the same settings.

/* Returns a function that gives numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function numbersOf(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
}

/* The range that numbers are drawn from, where the option allows more: 500 runs, each with all its fixes
 * tried, are to take seconds. */
const floor = { elements: 2 ** 14 };
const ceiling = { elements: 2 ** 31, tiles: 1024, streams: 64, intensity: 4096, columns: 8192, rows: 16384, inner: 4096 };

const ofRows = /transpose|dgemm/; // tiles of whole rows
const alone = /transpose|dgemm|stride-copy|wave-launches|stencil/; // kernels that follow none
const folds = /^(reduce|sum|all|finite)/; // kernels that none follows
const refused = '-1 0 1.5 12q 4G nan yes stage ../../etc <b>'.split(' '); // by most options

class Draw {
    constructor(catalogue, seed) {
        this.catalogue = catalogue;
        this.next = numbersOf(seed);
        this.turn = 0;
    }

    chance(share) { return this.next() < share; }
    pick(list) { return list[Math.floor(this.next() * list.length)]; }

    /* A number as likely small as large; most are powers of two, so that tiles are of whole rows. */
    number({ name, least, most: allowed, automatic }, powers) {
        if (automatic && this.chance(0.2)) return 'auto';
        const low = Math.max(Number(least), floor[name] ?? 1), high = Math.min(Number(allowed), ceiling[name] ?? 2 ** 16);
        const exponent = Math.log2(low) + this.next() * (Math.log2(high) - Math.log2(low));
        return String(Math.min(high, powers || this.chance(0.5) ? 2 ** Math.round(exponent) : Math.round(2 ** exponent)));
    }

    /* A chain of one to three kernels, the first of them in turn; mostly of those that can follow. */
    chain() {
        const { kernels } = this.catalogue, chain = [kernels[this.turn % kernels.length]], any = this.chance(0.1);
        for (let more = this.pick([0, 0, 1, 2]); more > 0; more--) {
            const last = chain.at(-1), after = kernels.filter((kernel) => any || (kernel.in === last.out &&
                !alone.test(kernel.name) && !alone.test(chain[0].name) && !folds.test(last.name)));
            if (after.length > 0) chain.push(this.pick(after));
        }
        return chain.map((kernel) => kernel.name).join();
    }

    value(option, kernel) {
        switch (option.type) {
        case 'number': return this.number(option, ofRows.test(kernel));
        case 'share': return this.pick(['auto', '0', '1', this.next().toFixed(2), this.next().toFixed(2)]);
        case 'choice': return this.pick(option.choices);
        case 'flag': return this.pick(['yes', 'no']);
        case 'priorities': return Array.from({ length: 1 + Math.floor(4 * this.next()) }, () => -Math.floor(6 * this.next())).join();
        default: return 'any';
        }
    }

    /* Mends, mostly, what the drawn settings can't be together: runs are worth more than refusals. */
    reconcile(settings, machine) {
        const old = /^c\d/.test(machine), broken = (settings.mistake ?? 'none') !== 'none', scans = /scan/.test(settings.kernel);
        const mend = (wrong, name, value) => {
            if (!wrong || this.chance(0.1)) return;
            if (value === undefined) delete settings[name];
            else settings[name] = value;
        };
        mend(settings.mistake === 'missing-wait', 'layout', 'stage');
        mend('cpu-share' in settings, 'ways', '4');
        mend((broken && settings.ways === '1') || (scans && settings.ways === '4'), 'ways', '2');
        mend(settings.ways !== '4', 'cpu-share');
        mend(settings['cpu-share'] === '1' && broken, 'cpu-share', '0.2');
        mend(broken && settings.streams === '1', 'streams', '4');
        mend(settings.ways === '1', 'streams');
        mend(!scans, 'carry');
        mend(!/^(scale|wave|uniform|divergent)(,|$)/.test(settings.kernel), 'blocks');
        mend(/wave-launches/.test(settings.kernel) && Number(settings.intensity) > 16, 'intensity', '16'); // one launch each
        mend(old && settings.connections !== '1', 'connections');
        mend(old || broken || settings.memory === 'pageable', 'issue');
        mend(settings.memory === 'mapped' && (broken || ofRows.test(settings.kernel) || scans), 'memory');
        for (const name of ['spread', 'exchange']) mend(true, name); // the lab has one device
        mend(true, 'copy'); // the elements that are drawn are no whole rows
        const managed = settings.memory === 'managed', whole = settings.issue && settings.issue !== 'streams';
        mend(managed && (broken || scans || whole || ofRows.test(settings.kernel)), 'memory');
        mend(settings.memory === 'managed', 'pack');
        mend(settings.memory === 'managed', 'scatter');
        mend(settings.memory !== 'managed', 'prefetch');
        mend(settings.pack === 'yes' && (settings.ways ?? '3') !== '3', 'pack');
        mend(settings.pack !== 'yes' && !/batch|auto/.test(settings.issue), 'batch');
        mend(broken || whole || settings.pack === 'yes' || /mapped|managed/.test(settings.memory), 'alloc');
        if (settings.kernel === 'stencil')
            for (const name of ['ways', 'order', 'layout', 'streams', 'priorities', 'callbacks', 'pack', 'scatter', 'memory', 'prefetch', 'alloc', 'issue', 'mistake', 'cpu-share'])
                mend(true, name);
        for (const name of ['runs', 'warmup']) mend(settings.mistake === 'lazy-loading', name);
    }

    run() {
        const { machines, mistakes, options } = this.catalogue, settings = { kernel: this.chain() };
        const machine = machines[this.turn % machines.length].name;
        if (this.chance(0.4)) settings.mistake = mistakes[this.turn % mistakes.length].name;
        for (const option of options) {
            if (!['kernel', 'mistake'].includes(option.name) && this.chance(0.3)) settings[option.name] = this.value(option, settings.kernel);
        }
        this.reconcile(settings, machine);
        if (this.chance(0.06)) settings[this.pick(options).name] = this.pick(refused);
        this.turn++;
        return { name: `run ${this.turn}`, machine, settings };
    }
}

/* Returns `count` runs [{name, machine, settings}]; machines, kernels and mistakes come in turn. */
export function drawRuns(catalogue, seed, count) {
    const draw = new Draw(catalogue, seed);
    return Array.from({ length: count }, () => draw.run());
}

/* The text of a config file with these runs. */
export function configOf(runs) {
    return runs.map(({ name, machine, settings }) => [`[${name}]`, `device = sim:${machine}`,
        ...Object.entries(settings).map(([key, value]) => `${key} = ${value}`), ''].join('\n')).join('\n');
}
