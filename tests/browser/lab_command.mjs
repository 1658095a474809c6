// lab_command.mjs - what the command says of runs: the figures that the lab page must show, too.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { folder } from './cases.mjs';
import { configOf } from './lab_draw.mjs';

const command = resolve(process.env.PIPELINE ?? 'build/pipeline');

/* Runs the command in the folder of the pages: {status, out, error}. */
export function pipeline(...args) {
    return new Promise((done) => {
        execFile(command, args, { cwd: folder, env: { ...process.env, CUDA_VISIBLE_DEVICES: '' }, maxBuffer: 2 ** 30 }, (failure, out, error) => done({ status: failure?.code ?? 0, out, error }));
    });
}

/* A refusal without the place, which is a file for the command and none for the page. */
export const words = (text) => text.trim().replace(/^pipeline: /, '').replace(/\b[\w.-]+:\d+: | \([\w.-]+:\d+\)/g, '').replace(/^run [\w. ~-]+?: /, '');

export const nanoseconds = (ms) => (ms === null ? null : String(Math.round(ms * 1e6)));
const bounds = ['copy-bound', 'kernel-bound', 'cpu-bound'];

/* What is known of a run of the command's JSON, as figuresOfPage() gives it for one of the page's data. */
export function figuresOfReport(run) {
    const shown = run.verdicts.filter(({ code, ns }) => !(code === 'rest' && ns === 0) && !(bounds.includes(code) && run.limit_ms === null));
    return { time: nanoseconds(run.time_ms), limit: nanoseconds(run.limit_ms),
        verdicts: shown.map(({ code, ns, fix }) => [code, String(ns), fix?.command ?? '', nanoseconds(fix?.predicted_ms ?? null)]),
        best: run.best ? [run.best.command, nanoseconds(run.best.predicted_ms)] : null };
}

export function figuresOfPage(run) {
    return { time: String(run.time_ns), limit: run.limit_ns === undefined ? null : String(run.limit_ns),
        verdicts: run.verdicts.map(({ code, ns, command: fix, predicted_ns: predicted }) =>
            [code, String(ns), fix ?? '', predicted === undefined ? null : String(predicted)]),
        best: run.best ? [run.best.command, String(run.best.predicted_ns)] : null };
}

const answerOf = (run) => ({ name: run.name, figures: figuresOfReport(run), named: run.verdicts.filter(({ named }) => named).map(({ code }) => code) });

/* What the command says of the runs of a config file: [{name, figures, named}]. */
export async function reportOf(config) {
    const { status, out, error } = await pipeline('-q', '--no-data', '--format=json', config);
    if (status !== 0) throw new Error(error);
    return JSON.parse(out).runs.map(answerOf);
}

/* Writes the runs as a config file of the folder; returns its name. */
function written(name, runs) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), configOf(runs));
    return name;
}

/* Returns what the command gives for each of the runs: {name, figures, named} or {refusal}. One process makes them
 * all; where it refuses one of them, each is made by a process of its own. */
export async function simulate(runs, name = 'lab-runs.ini') {
    const { status, out, error } = await pipeline('-q', '--no-data', '--format=json', written(name, runs));
    if (status === 0) return JSON.parse(out).runs.map(answerOf);
    if (runs.length === 1) return [{ refusal: words(error), status }];
    const found = [];
    for (const run of runs) found.push(...await simulate([run], name));
    return found;
}

/* Writes the timeline of one run as CSV; returns its path. */
export async function timelineOf(run) {
    const csv = join(folder, 'lab-spans.csv'), { status, error } = await pipeline('-q', '--no-data', '--gantt=none', `--timeline=${csv}`, written('lab-spans.ini', [run]));
    if (status !== 0) throw new Error(error);
    return csv;
}
