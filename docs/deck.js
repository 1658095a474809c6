/* deck.js - shows one slide at a time, and its runs one after the other. Without it the slides stand
 * below one another, each with all of its runs. The address has the slide's number and, behind a point,
 * how many steps of it are shown: #12 or #12.2. */
'use strict';

const root = document.documentElement;
const slides = [...document.querySelectorAll('section')];
let at = 0;
let step = 0;

function veilsOf(slide) {
    return [...slide.querySelectorAll('.veil')];
}

/* Shows `count` steps of slide `index`; what is beyond either end is the end. */
function show(index, count) {
    const from = slides[at];
    at = Math.max(0, Math.min(index, slides.length - 1));
    const slide = slides[at];
    const veils = veilsOf(slide);
    step = Math.max(0, Math.min(count, veils.length));
    slides.forEach(each => each.classList.toggle('at', each === slide));
    veils.forEach((veil, i) => veil.classList.toggle('lifted', i < step));
    const heading = slide.querySelector('h1, h2');
    document.title = heading.textContent;
    const address = '#' + (at + 1) + (step > 0 ? '.' + step : '');
    if (location.hash !== address)
        history.replaceState(null, '', address);
    if (slide !== from) {
        heading.tabIndex = -1;
        heading.focus({preventScroll: true});
    }
}

function showAddress() {
    const [, slide, steps] = /^#(\d+)(?:\.(\d+))?$/.exec(location.hash) || [null, 1, 0];
    show(slide - 1, Number(steps || 0));
}

function next() {
    if (step < veilsOf(slides[at]).length)
        show(at, step + 1);
    else if (at + 1 < slides.length)
        show(at + 1, 0);
}

function back() {
    if (step > 0)
        show(at, step - 1);
    else if (at > 0)
        show(at - 1, Infinity);
}

const keys = {
    ArrowRight: next,
    ArrowDown: next,
    PageDown: next,
    ' ': next,
    ArrowLeft: back,
    ArrowUp: back,
    PageUp: back,
    Backspace: back,
    Home: () => show(0, 0),
    End: () => show(slides.length - 1, Infinity),
    n: () => root.classList.toggle('notes'),
};

addEventListener('keydown', event => {
    const act = event.key === ' ' && event.shiftKey ? back : keys[event.key];
    if (act === undefined || event.ctrlKey || event.altKey || event.metaKey)
        return;
    event.preventDefault();
    act();
});

/* A click on the left quarter goes back, elsewhere forward; links, notes and marked words are left alone. */
addEventListener('click', event => {
    if (event.button !== 0 || event.target.closest('a, aside') || String(getSelection()) !== '')
        return;
    (event.clientX < innerWidth / 4 ? back : next)();
});

let touch = null;
addEventListener('touchstart', event => {
    touch = event.touches.length === 1 ? event.touches[0] : null;
}, {passive: true});
addEventListener('touchend', event => {
    const moved = touch === null ? 0 : event.changedTouches[0].clientX - touch.clientX;
    touch = null;
    if (Math.abs(moved) > 40 && !event.target.closest('aside'))
        (moved < 0 ? next : back)();
});

addEventListener('hashchange', showAddress);
root.classList.add('shown');
root.classList.toggle('notes', new URLSearchParams(location.search).has('notes'));
showAddress();
