#!/bin/sh
# run.sh BUILD [measure|lecture] - tests the page of --timeline=FILE.html and the lab page in a headless Chromium, or
# measures them, or tests the lecture in BUILD/lecture. Where node, npm, a Chromium or the npm package can't be had it
# says so, and does not fail.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)

skip() {
    echo "check-browser: skipped: $1"
    exit 0
}

for tool in node npm; do
    command -v "$tool" >/dev/null 2>&1 || skip "there is no $tool"
done
[ "$(node -p 'parseInt(process.versions.node) >= 18')" = true ] || skip "node $(node --version) is older than 18"
CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "there is no chromium"

# The npm package, once per lock file.
cd "$here"
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --ignore-scripts >"$build/npm.log" 2>&1 ||
        skip "npm can't install playwright-core and axe-core ($build/npm.log)"
    cp package-lock.json node_modules/.installed
fi

cd ../..
export CHROMIUM PIPELINE="$build/pipeline" PAGES="$build/browser"
mkdir -p "$PAGES"
if [ "${2:-}" = lecture ]; then
    LECTURE=$build/lecture exec node --test --test-reporter=spec tests/browser/lecture.mjs
fi
rm -f "$PAGES/lab.html"
"$build/pipeline" -q lab -o "$PAGES/lab.html" >"$PAGES/lab.log" 2>&1 ||
    echo "check-browser: without the lab page: $(cat "$PAGES/lab.log")"
if [ "${2:-}" = measure ]; then
    node tests/browser/measure.mjs
    exec node tests/browser/lab_measure.mjs
fi
# The C suite writes the pages that no run gives.
PIPELINE_PAGES=$PAGES CK_RUN_SUITE=html CK_DEFAULT_TIMEOUT=${TIMEOUT:-300} "$build/check" >"$PAGES/check.log" || {
    cat "$PAGES/check.log"
    exit 1
}
exec node --test --test-reporter=spec tests/browser/page.mjs tests/browser/axe.mjs tests/browser/lab_same.mjs \
    tests/browser/lab_page.mjs tests/browser/lab_bad.mjs tests/browser/lab_files.mjs tests/browser/lab_lessons.mjs
