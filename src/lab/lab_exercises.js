/* lab_exercises.js - the exercises of `pipeline exercise` on the lab page: what is asked for, the program that one
 * begins with, and how the simulator shows what it is like at first and what it may become. A program is graded by the
 * command, since that compiles it. Addresses: #exercises, #exercise=02-three-way. */

const exerciseAt = (place) => catalogue.exercises[place];
const titleOf = ({ title }) => title.charAt(0).toUpperCase() + title.slice(1);
const exerciseTitle = (exercise) => `${numberOf(exercise)}. ${titleOf(exercise)}`;
const exerciseLink = (exercise, words = '') => exercise && link(`#exercise=${exercise.name}`, words + exerciseTitle(exercise));
const commandLine = (text) => html('p', '', html('code', '', text));

/* A program that is unfolded, and copied, where one wants to see it. */
const foldedProgram = (summary, code) => html('details', 'code', html('summary', '', summary), ...programOf({ code }, 0, [code]));

/* Says what the last of the runs takes beside the first one. */
function comparedRuns(runs) {
    const [first, last] = [runs[0], runs.at(-1)];
    return html('p', '', ...tookText(first, last), ` That is ${timesText(timeOf(first) / timeOf(last))} as fast.`);
}

async function openExercise(exercise) {
    const number = numberOf(exercise), file = `${exercise.name.slice(3)}.cu`, place = catalogue.exercises.indexOf(exercise);
    openPart('exercise', exerciseTitle(exercise),
        ...exercise.task.map((paragraph) => html('p', '', paragraph)),
        commandLine(`pipeline exercise ${number} -o ${file}`), commandLine(`pipeline exercise check ${number} ${file}`),
        html('p', 'hint', 'The first writes the program that you begin with, the second grades yours; neither needs a GPU.'),
        foldedProgram('The program to begin with', exercise.start));
    const drawn = await simulateFor(opening, exercise.ini);
    if (!drawn) return;
    openPicture(drawn, html('h2', '', 'On the simulator'), comparedRuns(drawn.runs), ...causesOfRuns(drawn),
        foldedProgram('A solution: look at it when yours passes', exercise.answer),
        goOn(exerciseLink(exerciseAt(place - 1), 'Before: '), exerciseLink(exerciseAt(place + 1), 'Next: '), link('#exercises', 'All exercises')));
}

function openExercises() {
    openPart('exercises', 'Exercises',
        html('p', '', 'CUDA programs to be made faster, each right as it is. You change one on your own computer, and ', html('code', '', 'pipeline exercise check'),
            ' grades it there, without a GPU. Here the simulator shows what each is about.'),
        html('ol', 'path', ...catalogue.exercises.map((exercise) => html('li', '', link(`#exercise=${exercise.name}`, titleOf(exercise)),
            html('span', 'hint', ` ${exercise.task[0]}`)))));
}

/* Opens what the address asks for, and says whether it asked for any of this. */
function readExercise(params) {
    const wanted = params.get('exercise');
    const exercise = catalogue.exercises.find((one) => one.name === wanted || numberOf(one) === Number(wanted || NaN));
    if (wanted === null && !params.has('exercises')) return false;
    if (exercise) openExercise(exercise);
    else openExercises();
    if (wanted !== null && !exercise) warn(`There is no exercise ${quoted(wanted)}: these are all of them.`);
    markPart();
    return true;
}

starters.unshift(() => addressReaders.unshift(readExercise)); // before what closes a part that it does not know
