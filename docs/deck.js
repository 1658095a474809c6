/* deck.js - shows one slide at a time. Without it the slides stand below one another. The address has the slide's
 * name, or its number: #08-three-way-answer or #12. */
'use strict';

const root = document.documentElement;
const slides = [...document.querySelectorAll('section')];
let at = -1;
/* The window with the notes, or the one that opened it: what one turns, the other turns. */
let other = new URLSearchParams(location.search).has('notes') ? opener : null;

/* Shows slide `index`; what is beyond either end is the end. */
function show(index) {
    const to = Math.max(0, Math.min(index, slides.length - 1));
    const slide = slides[to];
    history.replaceState(null, '', '#' + slide.id);
    if (to === at)
        return;
    const heading = slide.querySelector('h1, h2');
    slides.forEach(each => each.classList.toggle('at', each === slide));
    document.title = heading.textContent;
    if (at >= 0) {
        heading.tabIndex = -1;
        heading.focus({preventScroll: true});
    }
    at = to;
    other?.postMessage(slide.id, '*');
}

function showAddress() {
    const name = location.hash.slice(1);
    const found = slides.findIndex(slide => slide.id === name);
    show(found >= 0 ? found : /^\d+$/.test(name) ? name - 1 : 0);
}

const next = () => show(at + 1);
const back = () => show(at - 1);

const keys = {
    ArrowRight: next,
    ArrowDown: next,
    PageDown: next,
    ' ': next,
    ArrowLeft: back,
    ArrowUp: back,
    PageUp: back,
    Backspace: back,
    Home: () => show(0),
    End: () => show(slides.length - 1),
    p: () => { other = open(`?notes${location.hash}`, 'notes', 'popup'); },
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

addEventListener('message', event => {
    if (event.source === other)
        show(slides.findIndex(slide => slide.id === event.data));
});
addEventListener('hashchange', showAddress);
root.classList.add('shown');
root.classList.toggle('notes', new URLSearchParams(location.search).has('notes'));
showAddress();
