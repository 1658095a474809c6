/* page.js - draws timelines, and lets a reader step through them.
 *
 * show(data) draws what writers/html.c wrote, in place of all that was drawn before; it may be called
 * any number of times, and leaves its data as they are. A page needs the elements of plots/viewer.html
 * and plots/plot.html; what stands beside them (title, summary, why, table, about) is drawn where the
 * page has an element for it.
 *
 * Bars that look alike are one path for each row: a browser takes ten times as long for a thousand
 * elements. Those that are marked are drawn once more, one by one, above them; the span under the
 * pointer is found by its row and its time.
 *
 * In order: the data, words, rows, drawing, a recorded program's threads, marks, stepping, pointing,
 * zoom, what stands beside, keys, show. Times are ns from a run's first issue. Where something stands on the time axis is a share
 * of it in percent: zooming, resizing and printing are the browser's work, not ours. Whatever came
 * from outside goes onto the page as text, never as markup. */
'use strict';

const ROW = 22, BAR = 16, THIN = 5; // px: a row, a bar in it, a wait
const HAND_APART = 80; // pixels from arrow to arrow of a row, at least
const ROWS_MAX = 64; // lanes of an engine, or streams; those beyond share the last row
const DIGIT = 7; // px
const NAMED = 8; // spans that the status line names, and stages that the legend names, before they are counted
const ZOOM_STEP = 1.5, WIDTH_MAX = 8e6; // px: beyond, browsers place things by guess
const PAPER_WIDTH = 880; // px, of the plot on a landscape page
const PLAY_MS = 400;
const COVERED = 0.25; // how deep the colour is at least where an engine was at work
const PARTS = 500; // of the time axis, where a dense row says when it was at work
const UNITS = 1e8; // of the time axis, in paths
const LISTED = 300; // spans of a run in the table
const LATE = 0.02; // of the time: a critical path that begins later says so
const NEAR = 0.6; // px: so near to a bar is on it

const element = (id) => document.getElementById(id);

/* Makes `content`, which may be of any length, all that is in `parent`. */
function fill(parent, content) {
    parent.replaceChildren();
    for (const one of content) parent.append(one);
    return parent;
}

function html(tag, className, ...content) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    return fill(made, content);
}

function svg(tag, attributes, ...content) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    return fill(made, content);
}

/* --- the data ----------------------------------------------------------------------------------- */

let data = { kinds: [], engines: [] };
let axis = 1; // its length
let runs = [];
let kinds;

function readData(next) {
    data = next;
    axis = Number(data.axis_ns);
    kinds = new Map(data.kinds.map((kind) => [kind.name, kind]));
    runs = data.runs.map(readRun);
}

/* The engines of a run, which spans name by number: those of each device, then the host's. */
function enginesOf({ devices, settings }) {
    const shared = settings?.some(([name, value]) => name === 'share' && /slices|mps/.test(value));
    const several = devices > 1, home = shared ? 'process' : 'GPU', own = data.engines.filter((engine) => engine.of_device);
    const each = Array.from({ length: devices }, (_, device) => own.map(({ name, label }) =>
        ({ name, label: several ? `${home} ${device} ${label}` : label, device })));
    const host = data.engines.filter((engine) => !engine.of_device);
    return [...each.flat(), ...host].map((engine, number) => ({ ...engine, number }));
}

/* Spans come as arrays, in the order in which writers/html.c puts them; last stands why it waited. */
const SPAN_TEXT = 13;

function readSpan(run, values, index) {
    const [op, kind, link, engine, lane, stream, tile, bytes, issue, start, end, holder, critical] = values;
    return {
        index, op, kind: data.kinds[kind].name, link, engine: run.engines[engine], lane, stream, tile,
        bytes: Number(bytes), issue: Number(issue), start: Number(start),
        end: Math.max(Number(start), Number(end)), holder, critical: critical === 1, text: values[SPAN_TEXT],
        row: null, call: null, node: 0, launch: [], // blocks, threads, registers, shared bytes
    };
}

/* An instant is a time at which spans start or end, with those spans. */
function findInstants(spans) {
    const byTime = new Map();
    const at = (time) => {
        if (!byTime.has(time)) byTime.set(time, { time, starts: [], ends: [] });
        return byTime.get(time);
    };
    for (const span of spans) {
        at(span.start).starts.push(span);
        at(span.end).ends.push(span);
    }
    return [...byTime.values()].sort((a, b) => a.time - b.time);
}

/* Calls and ranges of a recorded program's threads come as arrays, too: put_call(), put_ranges(). */
function readCall(run, values) {
    const [row, thread, start, end, line] = values, [name, holds] = data.calls[row];
    return { group: 'calls', name, holds: holds === 1, thread: Number(thread), start: Number(start),
        end: Math.max(Number(start), Number(end)), source: line ? run.lines[line - 1] : '', issued: [] };
}

function readRange([name, thread, start, end]) {
    return { group: 'ranges', name, thread, start: Number(start), end: Math.max(Number(start), Number(end)) };
}

/* Tells every span the call that issued it, and every call its spans. */
function readThreads(run) {
    const placeOfCall = (call) => `${call.thread} ${call.start}`;
    run.calls = (run.calls ?? []).map((values) => readCall(run, values));
    run.ranges = (run.ranges ?? []).map(readRange);
    const calls = new Map(run.calls.map((call) => [placeOfCall(call), call]));
    run.issues?.forEach(([made, node, ...launch], index) => {
        const span = run.spans[index], call = made && readCall(run, made);
        span.call = call && (calls.get(placeOfCall(call)) ?? call);
        span.call?.issued.push(span);
        span.node = node;
        span.launch = launch;
    });
}

/* Ranks of one job count from where the first of them begins. */
function countFromOneClock(run, clock) {
    for (const span of run.spans) span.issue += clock;
    for (const item of new Set([...run.spans, ...run.calls, ...run.ranges, ...run.spans.flatMap(({ call }) => call ?? [])])) {
        item.start += clock;
        item.end += clock;
    }
    for (const gap of run.gaps) {
        gap.from = Number(gap.from) + clock;
        gap.to = Number(gap.to) + clock;
    }
    if (run.limit_ns) run.limit_ns = Number(run.limit_ns) + clock;
}

function readRun(given) {
    const run = { device_streams: Infinity, ...given, devices: given.devices ?? 1 };
    run.engines = enginesOf(run);
    run.spans = (given.spans ?? []).map((values, index) => readSpan(run, values, index));
    readThreads(run);
    countFromOneClock(run, Number(run.clock_ns ?? 0));
    run.byStart = [...run.spans].sort((a, b) => a.start - b.start || a.index - b.index);
    run.correct = run.verified === 'no' ? 'WRONG' : run.verified;
    run.raced = new Set(run.raced);
    run.urgent = new Set(run.urgent);
    run.one_row = new Set(run.one_row); // engines whose spans hardly lie side by side: one row has them all
    run.at = -1; // the instant that the cursor is at or behind
    run.works = new Set(); // spans, from that instant on
    run.lit = new Map(); // spans that are shown as running, with the bars that show it
    return run;
}

/* The instants of `run`, which nobody needs before the first step. */
function instantsOf(run) {
    run.instants ??= findInstants(run.spans);
    return run.instants;
}

/* How many of `items`, in order, `before` holds for. */
function countUntil(items, before) {
    let low = 0, high = items.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (before(items[middle])) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* --- words -------------------------------------------------------------------------------------- */

function unitOf(ns) {
    const units = [['s', 1e9, 9], ['ms', 1e6, 6], ['us', 1e3, 3], ['ns', 1, 0]];
    return units.find(([, size]) => Math.abs(ns) >= size) ?? units[3];
}

/* As in the figures: "1.23 ms". */
function shortTime(ns) {
    const [unit, size] = unitOf(ns);
    return `${Number((ns / size).toPrecision(3))} ${unit}`;
}

/* To the nanosecond: "1.234567 ms". */
function timeText(ns) {
    const [unit, size, digits] = unitOf(ns);
    return `${Number((ns / size).toFixed(digits))} ${unit}`;
}

function bytesText(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    const unit = bytes > 0 ? Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1) : 0;
    return `${Number((bytes / 1024 ** unit).toPrecision(4))} ${units[unit]}`;
}

function stageName(run, span) {
    return span.kind === 'kernel' ? run.kernels[span.link] ?? 'kernel' : span.kind;
}

const isSync = (span) => span.kind === 'sync' || span.kind === 'event-sync';

function spanName(run, span) {
    if (span.kind === 'wait') return `wait for ${span.text}`;
    if (isSync(span)) return `${span.kind}: it ${span.text}`;
    return stageName(run, span) + (span.tile >= 0 ? ` ${span.tile}` : '');
}

/* "h2d 3, scale 2 start". */
function spansText(run, spans, verb) {
    const names = spans.slice(0, NAMED).map((span) => spanName(run, span)).join(', ');
    const more = spans.length > NAMED ? ` and ${spans.length - NAMED} more` : '';
    return names + more + (verb ? ` ${verb}${spans.length === 1 ? 's' : ''}` : '');
}

/* The memory of the host that a copy of another program is from or to. */
function memoryOf(run, span) {
    return run.foreign && ['h2d', 'd2h'].includes(span.kind) ? ['', 'pageable', 'pinned'][span.link] ?? '' : '';
}

/* "cudaMemcpyAsync of thread 0". */
const threadName = (run, thread) => (thread < run.threads ? `thread ${thread}` : 'another thread');
const callName = (run, call) => `${call.name} of ${threadName(run, call.thread)}`;

/* "6 us before". */
const beforeText = (call, span) => `${timeText(span.start - call.start)} before`;

const streamId = (run, stream) => run.stream_ids?.[stream] ?? stream;

/* --- rows --------------------------------------------------------------------------------------- */

let view = 'engines'; // or 'streams'

const inStream = (span) => kinds.get(span.kind).in_stream;

/* The group and the lane of a span: its engine or, by streams, all streams of its device. */
function placeOf(run, span) {
    if (view === 'streams' && inStream(span))
        return [`stream ${Math.min(Math.floor(span.stream / run.device_streams), run.devices - 1)}`, span.stream];
    return [span.engine.number, span.engine.name === 'none' || run.one_row.has(span.engine.number) ? 0 : span.lane];
}

/* The groups of a run, device by device, and what to call each. */
function groupsOf(run) {
    const named = new Map();
    for (const engine of run.engines) {
        if (engine.name === data.engines[0].name) named.set(`stream ${engine.device}`, 'stream');
        named.set(engine.number, engine.label);
    }
    return named;
}

function rowLabel(run, group, name, lanes, index) {
    const stream = name === 'stream', id = (lane) => (stream ? streamId(run, lane) : lane);
    let label = name;
    if (stream || lanes.length > 1) label += ` ${id(lanes[index])}`;
    if (index === ROWS_MAX - 1 && lanes.length > ROWS_MAX) label += `-${id(lanes.at(-1))}`;
    return label;
}

/* Gives every span its row. A row knows its spans, and the line of work that it is part of, an engine
 * or a stream: its spans in order of start, and until when those up to each keep it busy. */
function layRows(run) {
    const groups = new Map(); // of each group the rows by lane
    for (const span of run.spans) {
        const [group, lane] = placeOf(run, span);
        if (!groups.has(group)) groups.set(group, new Map());
        groups.get(group).set(lane, null);
    }
    run.rows = [];
    for (const [group, name] of [...groupsOf(run)].filter(([key]) => groups.has(key))) {
        const lanes = [...groups.get(group).keys()].sort((a, b) => a - b);
        const engine = { name, spans: [], until: [] };
        lanes.forEach((lane, i) => {
            if (i < ROWS_MAX) {
                const label = rowLabel(run, group, name, lanes, i), spans = [], until = [];
                const line = name === 'stream' ? { name: label, spans, until } : engine;
                run.rows.push({ label, group, waits: run.engines[group]?.name === 'none', first: i === 0, line, index: run.rows.length, spans, until, busy: 0 });
            }
            groups.get(group).set(lane, run.rows.at(-1));
        });
    }
    for (const span of run.byStart) {
        const [group, lane] = placeOf(run, span), row = groups.get(group).get(lane);
        span.row = row;
        row.busy += span.end - span.start;
        for (const { spans, until } of row.spans === row.line.spans ? [row] : [row, row.line]) {
            until.push(Math.max(until.length ? until[until.length - 1] : 0, span.end));
            spans.push(span);
        }
    }
}

/* The idle stretch of `row`'s line around `time`, and the span that ended it; null where the line
 * is at work. */
function gapAt(row, time) {
    const { spans, until } = row.line;
    const begun = countUntil(spans, (span) => span.start <= time);
    const from = begun > 0 ? until[begun - 1] : 0, next = spans[begun];
    return from > time ? null : { from, to: next ? next.start : axis, next };
}

/* --- drawing ------------------------------------------------------------------------------------ */

const share = (ns) => Math.min(Math.max(ns / axis, 0), 1);
const percent = (part) => `${(100 * part).toFixed(6)}%`;
const at = (ns) => percent(share(ns));
const stretch = (from, to) => percent(share(to) - share(from));
const vertical = (kind, x, y1 = 0) => svg('line', { class: kind, x1: x, x2: x, y1, y2: '100%' });
const rowPlace = (row) => `translate(0 ${row.index * ROW})`;
const middle = (span) => span.row.index * ROW + ROW / 2;
const kernelClass = (link) => (link % 4 === 0 ? 'kernel' : `kernel${link % 4}`);
const stageClass = (span) => (span.kind === 'kernel' ? kernelClass(span.link) : span.kind);

/* No work of a tile, but what may hold it up: seen however short it is. */
const isExtra = (span) => isSync(span) || ['callback', 'd2d', 'memset', 'alloc'].includes(span.kind);

/* A width of 0 is not drawn. */
const partOf = (span) => Math.max(share(span.end) - share(span.start), 1 / UNITS);

const isUrgent = (run, span) => inStream(span) && span.kind !== 'wait' && run.urgent.has(span.stream);
const heightOf = (span) => (span.kind === 'wait' ? THIN : BAR);

/* The classes of a span's bar. */
const lookOf = (run, span) => `bar ${stageClass(span)}${span.critical ? ' critical' : ''}${partOf(span) < 0.001 ? ' tiny' : ''}` +
    `${isExtra(span) ? ' extra' : ''}${isUrgent(run, span) ? ' urgent' : ''}`;

/* The bar of a span as part of a path in its row. */
function outline(span) {
    const x = Math.round(share(span.start) * UNITS), height = heightOf(span);
    return `M${x} ${(ROW - height) / 2}h${Math.max(Math.round(share(span.end) * UNITS) - x, 1)}v${height}H${x}z`;
}

/* The bars of a row: a path for all that look alike, those that may hold up work above the others. */
function drawBars(run, row) {
    const looks = new Map();
    for (const span of row.spans) {
        const look = lookOf(run, span);
        looks.set(look, (looks.get(look) ?? '') + outline(span));
    }
    const extra = (look) => look.includes(' extra');
    const paths = [...looks].sort(([a], [b]) => extra(a) - extra(b))
        .flatMap(([look, d]) => (extra(look) ? ['back', look] : [look]).map((name) => svg('path', { class: name, d })));
    const raced = run.raced.size ? row.spans.filter((span) => run.raced.has(span.index)) : [];
    return [svg('svg', { viewBox: `0 0 ${UNITS} ${ROW}`, preserveAspectRatio: 'none', width: '100%', height: ROW }, ...paths),
        ...raced.map((span) => drawBar(span, 'raced', 0))];
}

/* The bar of one span, in a row that begins at `y`. */
function drawBar(span, className, y) {
    return svg('rect', { class: className, x: at(span.start), width: percent(partOf(span)),
        y: y + (ROW - heightOf(span)) / 2, height: heightOf(span) });
}

/* What changes as one steps and points is drawn above the bars, which then need not be painted anew,
 * however many they are. */
function copyBar(span, mark) {
    const bar = drawBar(span, stageClass(span), span.row.index * ROW);
    const copy = svg('g', { class: mark }, bar, ...(hasRoom(span) ? [drawNumber(span)] : []));
    copy.span = span;
    return copy;
}

/* The gaps that causes made, each in the row of the op that ended it, behind bars and numbers; work
 * that took too long is marked above. Each cause has its name above the run, and a line to its longest. */
function drawGaps(run) {
    const longest = new Map();
    const rects = run.gaps.map((gap) => {
        const { code, from, span, engine, lost } = gap, op = run.spans[span];
        const to = view === 'streams' && op && from < op.start ? Math.min(gap.to, op.start) : gap.to;
        const row = op?.row.index ?? run.rows.findIndex((one) => one.group === engine);
        if (row < 0) return null;
        if (!(to - from <= longest.get(code)?.length)) longest.set(code, { length: to - from, middle: (share(from) + share(to)) / 2, row });
        // Of several gaps that are one, the height says which part of the time was lost.
        const part = lost > 0 ? Math.min(1, Math.max(0.15, lost / (gap.to - from))) : 1;
        return { own: op && from >= op.start && from < op.end, rect: svg('rect', { class: 'cause', x: at(from),
            width: stretch(from, to), y: row * ROW + 2, height: (ROW - 4) * part }, svg('title', {}, `${code}: ${timeText(part < 1 ? lost : to - from)}`)) };
    }).filter(Boolean);
    const leads = [...longest.values()].map(({ middle, row }) => svg('line', { class: 'lead', x1: percent(middle),
        x2: percent(middle), y1: 0, y2: row * ROW + 2 }));
    fill(run.gapsGroup, [...leads, ...rects.filter(({ own }) => !own).map(({ rect }) => rect)]);
    fill(run.slowGroup, rects.filter(({ own }) => own).map(({ rect }) => rect));
    run.causes = [...longest].sort(([, a], [, b]) => a.middle - b.middle);
}

/* Names of causes, each as near to its gap as the others let it; one without room is left out. */
function drawNames(run) {
    let end = 0;
    fill(run.names, run.causes.flatMap(([code, { middle }]) => {
        const cost = run.verdicts?.find((cause) => cause.code === code)?.cost, name = cost ? `${code} ${cost}` : code;
        const width = 7.6 * name.length, x = Math.min(Math.max(end, middle * whole - width / 2), whole - width);
        if (x < end) return [];
        end = x + width + 8;
        return [svg('text', { class: 'cause-name', x: percent(x / whole), y: 12 }, name)];
    }));
}

/* The ops as the host issued them, one after another: on the axis of time they would all be at its beginning. */
function drawIssue(run) {
    const ops = run.spans.filter((span) => span.kind !== 'wait'), part = Math.min(1 / ops.length, 0.025);
    const middleOf = (i) => percent((i + 0.5) * part);
    return svg('svg', { class: 'issue', role: 'img', 'aria-label': 'the order of issue' }, ...ops.flatMap((span, i) => [
        svg('rect', { class: stageClass(span), x: percent(i * part), width: percent(part * 0.94), y: 1, height: 16 }),
        ...(span.tile >= 0 && ops.length <= 48 ? [svg('text', { class: `on-${span.kind}`, x: middleOf(i), y: 13, 'text-anchor': 'middle' }, span.tile)] : []),
    ]), ...(ops.length * part < 0.6 ? [svg('text', { class: 'said', x: '100%', y: 13 }, 'order of the calls, not time')] : []));
}

/* Work that is little of a dense row would be lost from sight: its ground says when there was some. */
function drawGround(row, classOf) {
    if (row.spans.length < PARTS || row.busy / axis > COVERED) return;
    const spans = row.spans.filter((span) => span.kind !== 'wait');
    const busy = new Map();
    for (const span of spans) busy.set(Math.floor(share(span.start) * PARTS), classOf(span));
    const parts = [...busy.keys()].sort((a, b) => a - b);
    const begins = parts.filter((part) => busy.get(part - 1) !== busy.get(part));
    row.ground = begins.map((part) => {
        let to = part + 1;
        while (busy.get(to) === busy.get(part)) to++;
        return svg('rect', { class: `ground ${busy.get(part)}`, x: percent(part / PARTS),
            width: percent((to - part) / PARTS), y: (ROW - BAR) / 2, height: BAR });
    });
    row.bars.prepend(...row.ground);
}

/* A row's bars by how much of each column was taken: neighbours that are alike make one. */
function drawShares(shares, className, row) {
    const begins = [...shares.keys()].filter((i) => shares[i] !== shares[i - 1]);
    return begins.map((from, i) => svg('rect', {
        class: `column ${className}`,
        'fill-opacity': shares[from] && COVERED + (1 - COVERED) * shares[from] / 100,
        x: percent(from / shares.length), y: row * ROW + (ROW - BAR) / 2, height: BAR,
        width: percent(((begins[i + 1] ?? shares.length) - from) / shares.length),
    }));
}

/* Where spans are too many: how busy each engine was, by columns. */
function drawColumns(run) {
    const classes = { compute: 'kernel', host: 'callback' };
    run.rows = run.engines.map(({ name, label, number }) => ({ group: number, name, label, first: true,
        shares: run.columns[number] ?? [] })).filter((row) => row.shares.some((busy) => busy > 0));
    fill(run.barsGroup, run.rows.flatMap(({ name, shares }, row) => drawShares(shares, classes[name] ?? name, row)));
}

/* --- a recorded program's threads --------------------------------------------------------------- */

const callClass = (item) => (item.group === 'ranges' ? 'range' : item.holds ? 'call holds' : 'call');

function drawItem(item) {
    const part = Math.max(share(item.end) - share(item.start), 1e-8);
    const bar = svg('rect', { class: callClass(item) + (part < 0.001 ? ' tiny' : ''), x: at(item.start),
        width: percent(part), y: (ROW - BAR) / 2, height: BAR });
    bar.item = item;
    item.bar = bar;
    return bar;
}

/* Rows in which no two of `items`, in order of start, lie above one another: calls have one, ranges
 * within others a row below them. */
function layItems(items) {
    const lanes = [];
    for (const item of items) {
        let lane = lanes.findIndex(({ until }) => until.at(-1) <= item.start);
        if (lane < 0) lane = lanes.length < ROWS_MAX ? lanes.push({ spans: [], until: [] }) - 1 : ROWS_MAX - 1;
        const { spans, until } = lanes[lane];
        until.push(Math.max(until.at(-1) ?? -Infinity, item.end));
        spans.push(item);
    }
    return lanes;
}

/* The rows of threads, which are the same in every view. */
function makeThreadRows(run) {
    const labels = { calls: 'thread', ranges: 'NVTX' };
    run.threadRows = [];
    for (const group of ['calls', 'ranges']) {
        const threads = new Map();
        for (const item of [...run[group]].sort((a, b) => a.start - b.start || b.end - a.end)) {
            const thread = Math.min(item.thread, ROWS_MAX - 1);
            if (!threads.has(thread)) threads.set(thread, []);
            threads.get(thread).push(item);
        }
        for (const thread of [...threads.keys()].sort((a, b) => a - b)) {
            layItems(threads.get(thread)).forEach((line, i) => run.threadRows.push({ group, line, thread, spans: line.spans,
                busy: line.spans.reduce((sum, item) => sum + item.end - item.start, 0),
                label: i > 0 ? '' : thread < run.threads ? `${labels[group]} ${thread}` : `${labels[group]}, others`,
                bars: svg('g', {}, ...line.spans.map(drawItem)) }));
        }
    }
    (run.thread_columns ?? []).forEach(([holding, other, ranges], thread) => {
        const add = (label, layers) => {
            const taken = layers.filter(([shares]) => shares.some((busy) => busy > 0));
            if (taken.length) run.threadRows.push({ label, layers: taken });
        };
        add(`thread ${thread}`, [[other, 'call'], [holding, 'call holds']]);
        add(`NVTX ${thread}`, [[ranges, 'range']]);
    });
}

/* Puts them below the others. */
function placeThreads(run) {
    for (const row of run.threadRows) {
        row.index = run.rows.length;
        run.rows.push(row);
        row.bars?.setAttribute('transform', rowPlace(row));
        run.barsGroup.append(...(row.bars ? [row.bars] : row.layers.flatMap(([shares, className]) => drawShares(shares, className, row.index))));
        for (const item of row.spans ?? []) item.row = row;
        if (row.bars && !row.ground) drawGround(row, callClass);
    }
}

/* A name in the middle of what is seen of a call or range that has room for it. */
function drawName(item, from, to) {
    if (item.end < from || item.start > to) return [];
    const left = Math.max(item.start, from, 0), right = Math.min(item.end, to, axis);
    if ((right - left) / axis * whole < DIGIT * item.name.length + 6) return [];
    return [svg('text', { class: `on-${callClass(item)}`, x: at((left + right) / 2), y: middle(item) + 4 }, item.name)];
}

/* Puts the bars of `run` where the rows of this view are. */
function placeBars(run) {
    if (run.columns) {
        drawColumns(run);
    } else {
        layRows(run);
        for (const row of run.rows) {
            row.bars = svg('g', { transform: rowPlace(row) }, ...drawBars(run, row));
            drawGround(row, stageClass);
        }
        fill(run.barsGroup, run.rows.map((row) => row.bars));
    }
    placeThreads(run);
    run.rows.forEach(setDensity);
    drawGaps(run);
    run.svg.setAttribute('height', Math.max(run.rows.length, 1) * ROW);
    fill(run.lines, run.rows.map((row, i) => svg('line', {
        class: 'row', x1: 0, x2: '100%', y1: (i + 1) * ROW - 0.5, y2: (i + 1) * ROW - 0.5,
    })));
    fill(run.labels, run.rows.map((row) => {
        const use = row.first && run.use[row.group];
        return html('div', '', html('b', '', row.label), use ? ` ${use}` : '');
    }));
}

/* A simulated time has a range, in which nine of ten measured ones should lie. */
const tookOf = (run) => (run.range?.includes(' to ') ? `about ${run.time} (${run.range})` : run.time);

function figuresOf(run) {
    return [
        tookOf(run), run.speedup, run.limit && `limit ${run.limit}`, run.ratio && `${run.ratio} of limit`,
        run.repeats > 1 && `median of ${run.repeats}: ${run.min} to ${run.max}`,
        run.drawn !== run.time && run.span_count > 0 && `drawn ${run.drawn}`,
    ].filter(Boolean).join(', ');
}

function noteOf(run) {
    const count = (number) => number.toLocaleString('en');
    if (run.profiled) return 'Made with --profile: its timeline is with the profiler.';
    if (run.span_count === 0) return 'An empty timeline: there is no span to draw.';
    if (!run.columns && run.thread_columns) {
        return `${count(run.call_count)} calls to CUDA, too many to draw one by one: the deeper the colour, the more ` +
            'of the time the thread was in one. --window=FROM..TO shows a part of the time with every call.';
    }
    if (!run.columns) return '';
    return `${count(run.span_count)} spans, too many to draw one by one: a page has ` +
        `${count(data.spans_drawn)} at most. The deeper the colour, the busier the engine was. ` +
        (run.foreign ? '--window=FROM..TO shows a part of the time with every span.'
            : 'Fewer tiles show every span; so does --timeline=FILE.json.');
}

function drawRun(run) {
    const figures = html('span', '', figuresOf(run)), wrong = run.verified === 'no';
    const heading = html('h2', '', run.name || '(no name)', ...(wrong ? [html('strong', '', 'WRONG RESULT')] : []),
        figures);
    run.section = html('section', wrong ? 'run wrong' : 'run', heading);
    if (noteOf(run)) run.section.append(html('p', 'note', noteOf(run)));
    makeThreadRows(run);
    run.labels = html('div', 'labels');
    run.lines = svg('g', {});
    run.barsGroup = svg('g', {});
    run.running = svg('g', {});
    run.marks = svg('g', {});
    run.numbers = svg('g', {});
    run.gapsGroup = svg('g', { class: 'gaps' });
    run.slowGroup = svg('g', { class: 'gaps' });
    run.names = svg('svg', { class: 'names', 'aria-hidden': true });
    run.svg = svg('svg', {
        class: 'bars', role: 'img', tabindex: 0,
        'aria-label': `${run.name}: ${run.span_count} spans, ${run.call_count ? `${run.call_count} calls to CUDA, ` : ''}${wrong ? 'WRONG RESULT, ' : ''}${figures.textContent}`,
    }, run.lines, run.gapsGroup, run.barsGroup, run.slowGroup, ...(run.limit_ns <= axis ? [vertical('limit', at(run.limit_ns))] : []),
    run.numbers);
    run.above = svg('svg', { class: 'marks', 'aria-hidden': true }, run.running, run.marks);
    if (run.span_count > 0) {
        if (run.issue && run.spans.length)
            run.section.append(html('div', 'rows', html('div', 'labels', html('div', '', 'issue order')), drawIssue(run)));
        if (run.gaps.length) run.section.append(html('div', 'rows', html('div'), run.names));
        run.section.append(html('div', 'rows', run.labels, html('div', 'time', run.svg, run.above)));
    }
    placeBars(run);
}

/* --- marks: a tile's path, a gap and what ended it ---------------------------------------------- */

let shown = null; // { run, span }: what the tip is about; there is no span where it is a gap

/* Marks `spans` of `run` and, by lines from end to start, the way from each to the next. */
function mark(run, spans, span) {
    unmark();
    shown = { run, span };
    const links = spans.slice(1).map((to, i) => svg('line', {
        class: 'link', x1: at(spans[i].end), y1: middle(spans[i]), x2: at(to.start), y2: middle(to),
    }));
    fill(run.marks, [...spans.map((one) => copyBar(one, 'path')), ...links]);
    if (spans.length > 1) run.marks.prepend(svg('rect', { class: 'veil', width: '100%', height: '100%' }));
}

/* Marks a call and, by lines, the way to each of `spans` that it issued. */
function markCall(run, call, spans) {
    if (!call?.row) return;
    const frame = call.bar.cloneNode();
    frame.setAttribute('class', 'chosen');
    frame.setAttribute('transform', rowPlace(call.row));
    run.marks.append(frame, ...spans.slice(0, ROWS_MAX).map((span) => svg('line', {
        class: 'link', x1: at(call.start), y1: middle(call), x2: at(span.start), y2: middle(span),
    })));
}

function unmark() {
    element('tip').hidden = true;
    if (!shown) return;
    fill(shown.run.marks, []);
    shown = null;
}

/* Beside `x`, below the run or above it: what is marked in it stays in sight. */
function showTip(run, x, title, entries) {
    const tip = element('tip'), list = html('dl'), rows = run.svg.getBoundingClientRect();
    for (const [term, value] of entries) {
        if (value !== '') list.append(html('dt', '', term), html('dd', '', value));
    }
    fill(tip, [html('strong', '', title), list]);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const y = rows.bottom + 6 + height <= innerHeight ? rows.bottom + 6 : rows.top - height - 6;
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
}

function showSpan(run, span, x) {
    const onTile = (one) => one.tile === span.tile && one.kind !== 'wait';
    mark(run, span.tile < 0 || span.kind === 'wait' ? [span] : run.byStart.filter(onTile), span);
    const length = span.end - span.start, wait = span.kind === 'wait';
    const { call } = span, [blocks, threads, registers, shared] = span.launch;
    markCall(run, call, [span]);
    showTip(run, x, spanName(run, span), [
        ['run', run.name],
        ['tile', span.tile >= 0 ? span.tile : ''],
        ['stream', inStream(span) ? streamId(run, span.stream) : ''],
        ['engine', wait ? '' : span.engine.label + (span.lane ? `, lane ${span.lane}` : '')],
        ['to', isSent(span) ? `device ${span.link}` : ''],
        ['bytes', span.bytes ? bytesText(span.bytes) : ''],
        ['rate', span.bytes && length ? `${Number((span.bytes / length).toPrecision(3))} GB/s` : ''],
        ['host memory', memoryOf(run, span)],
        ['grid', blocks ? `${blocks} blocks of ${threads} threads` : ''],
        ['each thread', blocks ? `${registers} registers` : ''],
        ['each block', shared ? `${bytesText(shared)} shared` : ''],
        ['graph node', span.node ? String(span.node) : ''],
        ['issued by', call ? callName(run, call) : ''],
        ['called', call ? `${timeText(call.start)}, ${beforeText(call, span)}; took ${timeText(call.end - call.start)}` : ''],
        ['source', call ? call.source : ''],
        ['issued', call || (run.foreign && span.issue === span.start) ? '' : timeText(span.issue)], // not known
        ['starts', timeText(span.start)],
        ['ends', timeText(span.end)],
        ['lasts', timeText(length)],
        ['why then', wait ? '' : span.text],
        ['critical', span.critical ? 'the end waited for it' : ''],
    ]);
}

/* Shows a call or an NVTX range. */
function showItem(run, item, x) {
    mark(run, [], null);
    shown.item = item;
    markCall(run, item, item.issued ?? []);
    showTip(run, x, item.name, [
        ['run', run.name],
        ['what', item.group === 'ranges' ? 'NVTX range' : item.holds ? 'call that waits, or takes or gives back memory' : 'call'],
        ['thread', item.thread < run.threads ? item.thread : 'another'],
        ['source', item.source ?? ''],
        ['issued', item.issued ? spansText(run, item.issued) : ''],
        ['starts', timeText(item.start)],
        ['ends', timeText(item.end)],
        ['lasts', timeText(item.end - item.start)],
    ]);
}

/* Shows how long a thread was in no call, or in no range. */
function showAway(run, row, time, x) {
    const gap = gapAt(row, time);
    if (!gap) return unmark();
    const { from, to, next } = gap;
    mark(run, [], null);
    run.marks.append(svg('rect', {
        class: 'gap', x: at(from), width: stretch(from, to), y: row.index * ROW + 2, height: ROW - 4,
    }));
    return showTip(run, x, `${threadName(run, row.thread)} in no ${row.group === 'calls' ? 'call to CUDA' : 'range'} for ${timeText(to - from)}`, [
        ['run', run.name],
        ['from', timeText(from)],
        ['to', timeText(to)],
        ['then', next ? next.name : 'nothing more'],
    ]);
}

function showGap(run, row, time, x) {
    if (row?.line && row.thread !== undefined) return showAway(run, row, time, x);
    const gap = row?.line && !row.waits ? gapAt(row, time) : null;
    if (!gap) return unmark();
    const { from, to, next } = gap, holder = next && run.spans[next.holder];
    mark(run, [holder, next].filter(Boolean));
    run.marks.append(svg('rect', {
        class: 'gap', x: at(from), width: stretch(from, to), y: row.index * ROW + 2, height: ROW - 4,
    }));
    return showTip(run, x, `${row.line.name} idle for ${timeText(to - from)}`, [
        ['run', run.name],
        ['from', timeText(from)],
        ['to', timeText(to)],
        ['then', next ? spanName(run, next) : 'nothing was left to do'],
        ['why then', next && next.kind !== 'wait' ? next.text || 'not known' : ''],
    ]);
}

/* --- stepping ----------------------------------------------------------------------------------- */

let active = null; // the run that is stepped through
let cursor = null; // ns; null: nobody has stepped yet
const cursorLine = vertical('cursor', 0);
const veil = svg('rect', { class: 'veil', y: 0, height: '100%' }); // over what is still to come

/* Moves `run` to the last instant up to `time`, one after another. */
function seek(run, time) {
    if (run.at < 0 && time === -Infinity) return; // nobody steps
    const { works } = run, instants = instantsOf(run);
    for (; run.at + 1 < instants.length && instants[run.at + 1].time <= time; run.at++) {
        for (const span of instants[run.at + 1].starts) works.add(span);
        for (const span of instants[run.at + 1].ends) works.delete(span);
    }
    for (; run.at >= 0 && instants[run.at].time > time; run.at--) {
        for (const span of instants[run.at].ends) works.add(span);
        for (const span of instants[run.at].starts) works.delete(span);
    }
    const now = instants[run.at]; // spans of no length are lit at their instant alone
    const lit = new Set([...works, ...(now?.time === time ? now.starts : [])]);
    for (const [span, bar] of run.lit) {
        if (lit.has(span)) continue;
        bar.remove();
        run.lit.delete(span);
    }
    for (const span of lit) {
        if (!run.lit.has(span)) run.lit.set(span, run.running.appendChild(copyBar(span, 'on')));
    }
}

/* Shows anew what runs, in its place and with its numbers. */
function relight(run) {
    fill(run.running, []);
    run.lit.clear();
    seek(run, cursor ?? -Infinity);
}

/* Moves all runs to `time`; null: back to before the first step. */
function moveTo(time) {
    unmark();
    cursor = time;
    for (const run of runs) seek(run, time ?? -Infinity);
    fill(element('future'), time === null ? [] : [veil]);
    fill(element('over'), time === null ? [] : [cursorLine]);
    cursorLine.setAttribute('x1', at(time));
    cursorLine.setAttribute('x2', at(time));
    veil.setAttribute('x', at(time));
    veil.setAttribute('width', stretch(time, axis));
    scrollToTime(time);
    sayStatus();
}

function say(text) {
    element('status').textContent = text;
}

function sayStatus() {
    if (!active) return say('There is no span to step through.');
    if (cursor === null && matchMedia('(pointer: coarse)').matches) return say(`Touch Step to step through "${active.name}", or a box to read about it.`);
    if (cursor === null) return say(`Press the right arrow key to step through "${active.name}", or ? for all keys.`);
    const { works } = active, instants = instantsOf(active), now = instants[active.at], happens = [];
    if (now?.time === cursor && now.ends.length) happens.push(spansText(active, now.ends, 'end'));
    if (now?.time === cursor && now.starts.length) happens.push(spansText(active, now.starts, 'start'));
    const then = spansText(active, [...works].sort((a, b) => a.index - b.index)) || 'nothing';
    return say(`${active.name}, event ${active.at + 1} of ${instants.length}, ${timeText(cursor)}: ` +
        `${[...happens, 'then running'].join('; ')}: ${then}.`);
}

/* To the instant `by` further on, or back. Says whether there is one. */
function step(by) {
    const instants = active ? instantsOf(active) : [], last = active?.at ?? -1;
    const between = cursor !== null && last >= 0 && instants[last].time < cursor;
    const next = instants[last + by + (between && by < 0 ? 1 : 0)];
    if (next) moveTo(next.time);
    return next !== undefined;
}

function activate(run) {
    if (!run || run === active || run.spans.length === 0) return;
    active?.section.classList.remove('active');
    active = run;
    active.section.classList.add('active');
    sayStatus();
}

let player = 0;
function play(on) {
    clearInterval(player);
    player = on ? setInterval(() => step(1) || play(false), PLAY_MS) : 0;
    element('play').setAttribute('aria-pressed', String(on));
    element('status').setAttribute('aria-live', on ? 'off' : 'polite'); // nobody listens that fast
}

/* --- pointing ----------------------------------------------------------------------------------- */

/* The span of `row` whose bar is at `time` and `off` px from the middle of the row, or is so near that
 * it can't be told; of several the one that is drawn on top. */
function spanAt({ spans, until }, time, off) {
    const near = NEAR * axis / whole, from = time - near, to = time + near;
    const far = (span) => Math.max(span.start - time, time - span.end, 0);
    let best = null;
    for (let i = countUntil(spans, (span) => span.start <= to) - 1; i >= 0 && until[i] >= from; i--) {
        const span = spans[i];
        if (span.end < from || off > heightOf(span) / 2) continue;
        if (!best || far(span) < far(best) || (far(span) === far(best) && isExtra(span) && !isExtra(best))) best = span;
    }
    return best;
}

function listen(run) {
    const place = (event) => {
        const box = run.svg.getBoundingClientRect();
        const y = event.clientY - box.top, row = run.rows[Math.floor(y / ROW)];
        return { row, time: share((event.clientX - box.left) / box.width * axis) * axis, off: Math.abs(y % ROW - ROW / 2) };
    };
    const point = (event) => {
        const { row, time, off } = place(event), span = row?.line && row.thread === undefined ? spanAt(row, time, off) : null;
        if (span) showSpan(run, span, event.clientX);
        else if (event.target.item) showItem(run, event.target.item, event.clientX);
        else showGap(run, row, time, event.clientX);
    };
    run.svg.addEventListener('pointermove', point);
    run.svg.addEventListener('pointerleave', unmark);
    run.svg.addEventListener('click', (event) => {
        const { time } = place(event);
        const instants = instantsOf(run), begun = countUntil(instants, (instant) => instant.time <= time);
        activate(run);
        if (begun > 0) moveTo(instants[begun - 1].time);
        point(event);
    });
    run.svg.addEventListener('focus', () => activate(run));
    run.section.addEventListener('click', () => activate(run));
}

/* Shows the span `by` further on in order of start, as pointing at it would. */
function choose(by) {
    if (!active) return;
    const { byStart } = active, chosen = shown?.run === active ? byStart.indexOf(shown.span) : -1;
    const begun = countUntil(byStart, (span) => span.start < (cursor ?? 0)) - (by > 0 ? 1 : 0);
    const span = byStart[Math.min(Math.max((chosen >= 0 ? chosen : begun) + by, 0), byStart.length - 1)];
    scrollToTime(span.start);
    active.section.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    const { left, width } = active.svg.getBoundingClientRect();
    showSpan(active, span, left + share(span.start) * width);
    const { call } = span, source = call?.source ? ` at ${call.source}` : '';
    const issued = call ? `; issued ${beforeText(call, span)} by ${callName(active, call)}${source}` : '';
    say(`${spanName(active, span)}, ${timeText(span.start)} to ${timeText(span.end)}. ${span.text}${issued}`);
}

/* Shows the call `by` further on, of any thread, as pointing at it would. */
function chooseCall(by) {
    if (!active?.calls.length) return;
    const { calls } = active, chosen = shown?.run === active ? calls.indexOf(shown.item) : -1;
    const begun = countUntil(calls, (call) => call.start < (shown?.span?.start ?? cursor ?? 0)) - (by > 0 ? 1 : 0);
    const call = calls[Math.min(Math.max((chosen >= 0 ? chosen : begun) + by, 0), calls.length - 1)];
    scrollToTime(call.start);
    call.bar.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    showItem(active, call, call.bar.getBoundingClientRect().left);
    say(`${callName(active, call)}, ${timeText(call.start)} to ${timeText(call.end)}, ${timeText(call.end - call.start)}` +
        `${call.source ? `, at ${call.source}` : ''}.`);
}

/* --- zoom, and what depends on it --------------------------------------------------------------- */

const plot = element('plot');
let zoom = 1;
let whole = innerWidth; // px: the time axis, seen or not; until it is laid out, a guess

/* The width of what is seen of the time axis, in px. */
const seenWidth = () => Math.max(element('over').getBoundingClientRect().width / zoom, 1);

function setZoom(to) {
    zoom = to;
    element('wide').style.setProperty('--zoom', zoom);
}

/* Zooms around `x`, px from the left of what is seen. */
function zoomTo(wanted, x) {
    const width = seenWidth(), time = (plot.scrollLeft + x) / (width * zoom);
    setZoom(Math.max(1, Math.min(wanted, WIDTH_MAX / width, axis / 20)));
    plot.scrollLeft = time * width * zoom - x;
    unmark();
    redraw();
    runs.forEach(relight);
}

function zoomBy(factor) {
    const width = seenWidth(), x = share(cursor) * width * zoom - plot.scrollLeft;
    zoomTo(zoom * factor, cursor !== null && x >= 0 && x <= width ? x : width / 2);
}

function scrollToTime(time) {
    if (zoom === 1 || time === null) return;
    const width = seenWidth(), x = share(time) * width * zoom;
    if (x < plot.scrollLeft || x > plot.scrollLeft + width) plot.scrollLeft = x - width / 3;
}

/* Ticks 1, 2 or 5 times a power of ten apart, and lines through all runs under them. */
function drawTicks(from, to, width) {
    const [unit, size] = unitOf(axis), least = Math.max((to - from) / width * 110, 1);
    const decade = 10 ** Math.floor(Math.log10(least));
    const apart = [1, 2, 5, 10].map((times) => times * decade).find((ns) => ns >= least);
    const decimals = Math.max(0, Math.ceil(Math.log10(size / apart) - 1e-9));
    const first = Math.floor(from / apart), count = Math.floor(Math.min(to, axis) / apart) - first + 1;
    const ticks = Array.from({ length: count }, (_, i) => (first + i) * apart);
    const label = (ns) => { // none where it would be cut off
        const text = (ns / size).toFixed(decimals);
        return (axis - ns) / axis * whole > (DIGIT + 1) * text.length ? text : '';
    };
    element('unit').textContent = `time, ${unit}`;
    fill(element('under'), ticks.map((ns) => vertical('grid', at(ns))));
    fill(element('ticks'), ticks.flatMap((ns) => [vertical('tick', at(ns), 4),
        svg('text', { x: at(ns), y: 15, dx: 4 }, label(ns))]));
}

/* Whether a bar has room for its tile's number. */
function hasRoom(span) {
    const width = (span.end - span.start) / axis * whole;
    return width >= DIGIT + 4 && span.tile >= 0 && span.kind !== 'wait' && width >= DIGIT * `${span.tile}`.length + 4;
}

/* Few bars have room for edges; many must not look fuller than they are. */
function setDensity(row) {
    row.bars?.classList.toggle('apart', whole / row.spans.length > 8);
    row.bars?.classList.toggle('dense', whole / row.spans.length < 2);
}

function drawNumber(span) {
    const x = percent((share(span.start) + share(span.end)) / 2);
    return svg('text', { class: `on-${span.kind}${span.critical ? '' : ' aside'}`, x, y: middle(span) + 4 }, span.tile);
}

/* Whether a copy is to another device that is known: files of other programs need not tell. */
const isSent = (span) => span.kind === 'peer' && span.link !== span.engine.device;

/* Whether a copy to another device is wide enough for an arrow not to stand close by the next one. */
const hasHand = (span) => isSent(span) && (span.end - span.start) / axis * whole >= DIGIT;

/* An arrow from the end of a copy to the device that it is to: its kernels, or by streams its first one. */
function drawHand(run, span) {
    const engine = run.engines.find(({ name, device }) => name === 'compute' && device === span.link);
    const group = view === 'streams' ? `stream ${span.link}` : engine?.number;
    const row = run.rows.find((one) => one.group === group);
    if (!row || row === span.row) return [];
    const down = row.index > span.row.index;
    return [svg('line', { class: 'hand', x1: at(span.end), x2: at(span.end),
        y1: middle(span) + (down ? BAR : -BAR) / 2, y2: row.index * ROW + ROW * (down ? 0.4 : 0.6) })];
}

/* Draws what depends on the zoom, for what is seen and a screen on each side. */
function redraw(paper) {
    const width = paper ?? seenWidth();
    whole = width * zoom;
    const left = Math.max(plot.scrollLeft - width, 0), right = Math.min(plot.scrollLeft + 2 * width, whole);
    const from = left / whole * axis, to = right / whole * axis;
    const first = plot.scrollLeft / whole * axis, last = first + width / whole * axis; // what is seen
    const isSeen = (span) => span.end >= from && span.start <= to;
    drawTicks(from, to, right - left);
    for (const run of runs) {
        drawNames(run);
        const numbered = new Map(), handed = new Map(); // by row: the last one so far
        fill(run.numbers, run.spans.filter((span) => {
            const before = numbered.get(span.row), half = (span.start + span.end) / 2;
            if (!isSeen(span) || !hasRoom(span) || (before && before.start < half && half < before.end)) return false;
            return numbered.set(span.row, span);
        }).map(drawNumber));
        run.numbers.append(...run.spans.filter((span) => {
            if (!hasHand(span) || !isSeen(span) || (span.end - handed.get(span.row)) / axis * whole < HAND_APART) return false;
            return handed.set(span.row, span.end);
        }).flatMap((span) => drawHand(run, span)));
        for (const item of [...run.calls, ...run.ranges]) run.numbers.append(...drawName(item, first, last));
        run.rows.forEach(setDensity);
    }
}

let waiting = 0;
function redrawSoon() {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => redraw());
}

/* --- what stands beside ------------------------------------------------------------------------- */

function drawLegend() {
    const shapes = new Map(), lasted = new Map(); // by name
    for (const run of runs) {
        for (const span of run.spans) {
            const wait = span.kind === 'wait', name = stageName(run, span);
            lasted.set(name, (lasted.get(name) ?? 0) + span.end - span.start);
            if (!shapes.has(name)) shapes.set(name, svg('rect', {
                class: stageClass(span), width: '100%', y: wait ? 4 : 0, height: wait ? THIN : '100%',
            }, svg('title', {}, kinds.get(span.kind).title)));
        }
    }
    // A program has hundreds of kernels: those that lasted longest are named.
    const short = [...lasted].sort((a, b) => b[1] - a[1]).slice(NAMED).map(([name]) => name);
    short.forEach((name) => shapes.delete(name));
    if (short.length) shapes.set(`and ${short.length} more, which took less time`, svg('g', {}));
    const mark = (className) => svg('rect', { class: className, x: 1, y: 1, width: '90%', height: '85%' });
    if (runs.some((run) => run.gaps.length)) shapes.set('lost time, with its cause; as high as the share that was lost', mark('cause'));
    if (runs.some((run) => run.raced.size)) {
        shapes.set('raced', svg('g', {}, svg('rect', { class: 'kernel', width: '100%', height: '100%' }), mark('raced')));
    }
    if (runs.some((run) => run.urgent.size)) shapes.set('urgent', mark('frame'));
    const items = runs.flatMap((run) => run.threadRows), hasItems = (className) => items.some((row) =>
        (row.layers ? row.layers.some(([, name]) => name === className) : row.line.spans.some((item) => callClass(item) === className)));
    for (const [className, name] of [['call holds', 'call that waits, or takes memory'], ['call', 'other call to CUDA'], ['range', 'NVTX range']]) {
        if (hasItems(className)) shapes.set(name, mark(className));
    }
    const limit = 'limit: this work can\'t finish earlier, however it is ordered';
    if (runs.some((run) => run.limit_ns)) shapes.set(limit, vertical('limit', 12));
    fill(element('legend'), [...shapes].map(([name, shape]) =>
        html('li', '', svg('svg', { 'aria-hidden': 'true' }, shape), html('span', 'name', name))));
    if (runs.some((run) => run.spans.some((span) => span.engine.name === 'compute' && placeOf(run, span)[1] > 0))) {
        element('legend').append(html('li', '', 'kernel 0, kernel 1, ...: kernels side by side'));
    }
}

/* A row per run, with its results and the settings in which runs differ; the others once. */
function drawAbout(about) {
    const own = runs.filter((run) => run.settings), first = own[0]?.settings ?? [];
    const differs = (i) => own.some((run) => run.settings[i][1] !== first[i][1]);
    const columns = Object.entries({
        run: 'name', source: 'source', device: 'device', driver: 'driver', timing: 'timing', 'the loop': 'loop', time: 'time', interval: 'range',
        'speed-up': 'speedup', limit: 'limit', 'of limit': 'ratio', 'bound by': 'bound', verified: 'correct',
    }).filter(([, key]) => runs.some((run) => run[key])).map(([name, key]) => [name, (run) => run[key]]);
    const same = html('dl');
    first.forEach(([name, value], i) => {
        if (differs(i)) columns.push([name, (run) => run.settings?.[i][1]]);
        else same.append(html('div', '', html('dt', '', name), html('dd', '', value)));
    });
    const cells = (tag, row) => html('tr', '', ...columns.map((column) => html(tag, '', row(column))));
    const table = html('table', '', cells('th', ([name]) => name),
        ...runs.map((run) => cells('td', ([, value]) => value(run) ?? '-')));
    table.style.setProperty('--rows', columns.length);
    fill(about, [html('h2', '', 'Where this comes from'),
        html('p', '', `Made by pipeline ${data.version}.`), scrollable('Runs', table)]);
    if (own.length) about.append(html('h2', '', own.length > 1 ? 'The same in all runs' : 'Settings'), same);
}

const isBound = ({ code }) => code.endsWith('-bound'); // no loss, but what the limit is set by

/* Why each run took longer than its limit: what each cause cost, and what to do. */
function drawWhy(why) {
    const judged = runs.filter((run) => run.no_verdict || run.verdicts?.length);
    const limited = judged.some((run) => run.limit_ns && run.limit_from !== 'file');
    why.hidden = !judged.length;
    fill(why, [html('h2', '', !limited ? 'What took the time'
        : judged.length > 1 ? 'Why they took longer than their limits' : 'Why it took longer than its limit')]);
    for (const run of judged) {
        const list = html('dl', 'why');
        for (const { code, cost, share, named, text, seen, likely, fix, command, calls, how, predicted, no_time } of run.verdicts ?? []) {
            const price = isBound({ code }) || cost === '0 ns' ? '' : `${cost}${share ? `, ${share}` : ''}: `;
            list.append(html('div', named ? 'named' : '', html('dt', '', code),
                html('dd', '', `${price}${text}`, ...(seen ? [html('p', '', `Seen: ${seen}${likely ? ' (a likely cause)' : ''}`)] : []),
                    ...(fix ? [html('p', '', `Fix: ${[fix, command].filter(Boolean).join(': ')}` +
                        (predicted ? `; with it ${predicted}` : no_time ? `; ${no_time}` : ''))] : []),
                    ...(how ? [html('p', '', `In ${calls}: ${how}`)] : []))));
        }
        why.append(html('h3', '', run.name), run.no_verdict ? html('p', '', run.no_verdict) : list);
    }
}

/* The texts of all runs, each once; of many the first. */
function some(texts) {
    const own = [...new Set(texts)];
    return (own.length > 6 ? [...own.slice(0, 6), `${own.length - 6} more`] : own).join(', ');
}

const namesOfRuns = () => some(runs.map((run) => run.name)) || 'No runs';

function drawTitle(title) {
    title.textContent = data.message || namesOfRuns();
    document.title = `${title.textContent} - pipeline`;
    title.className = runs.some((run) => run.verified === 'no') ? 'wrong' : '';
}

function drawSummary(summary) {
    const all = (key) => some(runs.map((run) => run[key]));
    summary.textContent =
        `${data.message ? `${namesOfRuns()}; ` : ''}${all('source')}, ${all('device')}, pipeline ${data.version}`;
}

/* A block that a reader can scroll without a mouse. */
function scrollable(label, ...content) {
    const block = html('div', 'scroll', ...content);
    Object.entries({ tabindex: 0, role: 'region', 'aria-label': label }).forEach((name) => block.setAttribute(...name));
    return block;
}

/* The spans of a run in words, for those who can't see the picture or want its numbers. */
function tableOf(run) {
    const columns = [['span', (span) => spanName(run, span)], ['stream', (span) => (inStream(span) ? streamId(run, span.stream) : '')],
        ['tile', (span) => (span.tile >= 0 ? span.tile : '')], ['starts', (span) => timeText(span.start)], ['ends', (span) => timeText(span.end)]];
    const rows = run.byStart.slice(0, LISTED).map((span) => html('tr', '', ...columns.map(([, value]) => html('td', '', value(span)))));
    const heads = columns.map(([name]) => html('th', '', name));
    heads.forEach((head) => head.setAttribute('scope', 'col'));
    const more = rows.length < run.span_count ? `${rows.length ? `The first ${LISTED} of ${run.span_count.toLocaleString('en')} spans.`
        : `${run.span_count.toLocaleString('en')} spans are too many to list.`} --timeline=FILE.csv writes every span.` : '';
    return [html('h3', '', run.name), ...(more ? [html('p', '', more)] : []), ...(rows.length ? [scrollable(`Spans of ${run.name}`,
        html('table', '', html('thead', '', html('tr', '', ...heads)), html('tbody', '', ...rows)))] : [])];
}

/* The table costs nothing until somebody opens it. */
function drawTable(details) {
    fill(details.lastElementChild, details.open ? runs.flatMap(tableOf) : []);
}

/* What a page may have beside the picture, by the id of its element. */
const beside = { title: drawTitle, summary: drawSummary, why: drawWhy, about: drawAbout, table: drawTable };

/* --- keys and buttons --------------------------------------------------------------------------- */

let pathAsked = false;

function setView(name) {
    unmark();
    view = name;
    for (const id of ['engines', 'streams']) element(id).setAttribute('aria-pressed', String(id === view));
    for (const run of runs) {
        placeBars(run);
        relight(run);
    }
    redraw();
}

/* Shows the critical path if the reader asked for it, and there is one. */
function showCritical() {
    document.body.classList.toggle('show-critical', pathAsked && !element('critical').disabled);
    element('critical').setAttribute('aria-pressed', String(pathAsked));
}

/* How long at least one of `spans`, in order of start, lasted. */
function unionOf(spans) {
    let sum = 0, until = 0;
    for (const { start, end } of spans) {
        sum += Math.max(end - Math.max(start, until), 0);
        until = Math.max(until, end);
    }
    return sum;
}

/* The critical path in words; where it doesn't reach back to the begin, also what was before it. */
function criticalText(run) {
    const path = run.byStart.filter((span) => span.critical), [first] = path;
    if (!first) return `${run.name} has no critical path.`;
    const late = first.start > LATE * Math.max(...path.map((span) => span.end));
    const before = first.text.startsWith('waited for the host') ? '; before that the host kept the GPU waiting' : '';
    return `The critical path of ${run.name}: ${path.length} spans, at work for ${shortTime(unionOf(path))} of ${run.drawn}.` +
        (late ? ` It begins at ${shortTime(first.start)}${before}.` : '');
}

function toggleCritical() {
    if (element('critical').disabled) return;
    pathAsked = !pathAsked;
    showCritical();
    sayStatus();
    if (pathAsked) say(criticalText(active));
}

function clear() {
    play(false);
    moveTo(null);
}

const actions = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    Home: () => active && moveTo(instantsOf(active)[0].time),
    End: () => active && moveTo(instantsOf(active).at(-1).time),
    ' ': () => play(!player),
    n: () => choose(1),
    p: () => choose(-1),
    ']': () => chooseCall(1),
    '[': () => chooseCall(-1),
    e: () => setView(view === 'engines' ? 'streams' : 'engines'),
    c: toggleCritical,
    '+': () => zoomBy(ZOOM_STEP),
    '=': () => zoomBy(ZOOM_STEP),
    '-': () => zoomBy(1 / ZOOM_STEP),
    0: () => zoomTo(1, 0),
    Escape: clear,
    '?': () => element('keys').showModal(),
    h: () => element('keys').showModal(),
};

function onKey(event) {
    const presses = event.target.closest('button, summary, a') && [' ', 'Enter'].includes(event.key);
    const scrolls = event.target.closest('.scroll') && event.key.startsWith('Arrow');
    const types = event.target.closest('input, select, textarea, dialog');
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || presses || scrolls || types) return;
    const run = runs[Number(event.key) - 1];
    if (!actions[event.key] && !run) return;
    event.preventDefault();
    if (actions[event.key]) return actions[event.key]();
    activate(run);
    run.section.scrollIntoView({ block: 'nearest' });
}

function onWheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const x = event.clientX - element('over').getBoundingClientRect().left - plot.scrollLeft;
    zoomTo(zoom * 2 ** (-event.deltaY / 300), x);
}

/* --- show --------------------------------------------------------------------------------------- */

/* Draws `next` in place of what is drawn. The rows that the reader chose, the critical path and the
 * run that is stepped through stay; zoom does, where the time axis is about as long as before. */
function show(next) {
    const before = axis, seen = plot.scrollLeft / whole, name = active?.name;
    play(false);
    unmark();
    cursor = null;
    active = null;
    for (const id of ['future', 'over']) fill(element(id), []);
    readData(next);
    if (axis > 2 * before || before > 2 * axis) setZoom(1);
    document.body.classList.toggle('several', runs.some((run) => run.devices > 1));
    runs.forEach(drawRun);
    runs.forEach(listen);
    fill(element('runs'), runs.map((run) => run.section));
    activate(runs.find((run) => run.name === name && run.spans.length > 0) ?? runs.find((run) => run.spans.length > 0));
    element('critical').disabled = !runs.some((run) => run.spans.some((span) => span.critical));
    showCritical();
    for (const id in beside) {
        if (element(id)) beside[id](element(id));
    }
    drawLegend();
    sayStatus();
    if (zoom > 1) plot.scrollLeft = seen * seenWidth() * zoom;
    redraw();
}

/* What is set once, however often something is shown. */
function start() {
    for (const button of document.querySelectorAll('[data-key]')) button.onclick = actions[button.dataset.key];
    for (const id of ['engines', 'streams']) element(id).onclick = () => setView(id);
    element('table')?.addEventListener('toggle', () => drawTable(element('table')));
    document.addEventListener('keydown', onKey);
    plot.addEventListener('wheel', onWheel, { passive: false });
    plot.addEventListener('scroll', redrawSoon);
    addEventListener('resize', redrawSoon);
    addEventListener('beforeprint', () => {
        clear();
        zoomTo(1, 0);
        redraw(PAPER_WIDTH);
    });
    addEventListener('afterprint', () => redraw());
}

start();
