#!/usr/bin/env bash
# Measures what kproc's macros cost a program that uses them: programs of 1, 10 and 50 handlers, plain methods and processors,
# and the rebuild of word-count after a handler was touched. docs/compile-cost.md says what comes out, and what it means.
#
#   tools/compile-cost/run.sh [ROUNDS]
#
# Times are user CPU seconds, medians of so many rounds (5); that of expansion is by the clock. What is made is in
# target/compile-cost. The first run builds kproc and what it needs, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD rounds=${1:-5} numbers=(1 10 50)
made=$root/target/compile-cost
export CARGO_TARGET_DIR=$root/target CARGO_TERM_QUIET=true
TIMEFORMAT=%U

# One handler's body, as that of many: reads a store, writes it, sends.
body='        let mut count = self.counts.entry(key)?.or_default();
        *count += value.len() as u64;
        ctx.send(&OUTPUT, key, &*count)?;
        Ok(())
    }'

# processor NAME MARK TOPIC...: one that counts, with a handler for each topic. Without MARK, these are plain methods, and one
# handler calls them all.
processor() {
    local name=$1 mark=$2 topic
    shift 2
    printf '#[processor]\n#[derive(Default)]\nstruct %s {\n    #[state]\n    counts: Table<String, u64>,\n}\n' "$name"
    printf '#[processor(sends(OUTPUT))]\nimpl %s {\n' "$name"
    if [[ ! $mark ]]; then
        printf '    #[on_message(%s)]\n    fn all(&mut self, ctx: &mut Context<'\''_>, key: &str, value: &str) -> Result<()> {\n' "$1"
        printf '        self.on_%s(ctx, key, value)?;\n' "${@,,}"
        printf '        Ok(())\n    }\n}\nimpl %s {\n' "$name"
    fi
    for topic; do
        [[ ! $mark ]] || printf '    #[on_message(%s)]\n' "$topic"
        printf '    fn on_%s(&mut self, ctx: &mut Context<'\''_>, key: &str, value: &str) -> Result<()> {\n%s\n' "${topic,,}" "$body"
    done
    printf '}\n'
}

# program SHAPE NUMBER
program() {
    local number topics=() names=()
    for ((number = 0; number < $2; number++)); do topics+=("T$number") names+=("P$number"); done
    printf '#![allow(dead_code)]\nuse kproc::prelude::*;\nconst OUTPUT: Topic<String, u64> = Topic::new("output");\n'
    for number in "${topics[@]}"; do printf 'const %s: Topic<String, String> = Topic::new("%s");\n' "$number" "${number,,}"; done
    case $1 in
    handlers) processor P0 marked "${topics[@]}" ;;
    methods) processor P0 '' "${topics[@]}" ;;
    processors) for number in "${!topics[@]}"; do processor "P$number" marked "${topics[$number]}"; done ;;
    esac
    [[ $1 == processors ]] || names=(P0)
    printf 'kproc::main!(%s);\n' "$(IFS=,; echo "${names[*]}")"
}

# package NAME: an empty one.
package() {
    mkdir -p "$made/$1/src"
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nkproc = { path = "%s/kproc" }\n' \
        "$1" "$root" >"$made/$1/Cargo.toml"
}

rm -rf "$made"
programs=()
for shape in handlers methods processors; do
    for number in "${numbers[@]}"; do
        programs+=("$shape-$number")
        package "$shape-$number"
        program "$shape" "$number" >"$made/$shape-$number/src/main.rs"
    done
done
package rebuilt
cp examples/word-count/src/main.rs "$made/rebuilt/src/main.rs"
touched='if !word.is_empty() .*{'
grep -q "$touched" "$made/rebuilt/src/main.rs" || { echo "word-count's handler has changed: say here how to touch it" >&2; exit 1; }
# With Cargo's own profile, as a program has it whose author has set nothing.
printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n' >"$made/Cargo.toml"
cp Cargo.lock "$made/Cargo.lock"
cd "$made"
CARGO_TERM_QUIET=false cargo build --workspace
cargo check --workspace

# seconds COMMAND...: user CPU seconds of all its processes.
seconds() {
    { time "$@" >/dev/null 2>"$made/errors" || { cat "$made/errors" >&2; exit 1; }; } 2>&1
}

# The number in the middle.
median() {
    sort -n | awk '{ of[NR] = $1 } END { print NR % 2 ? of[(NR + 1) / 2] : (of[NR / 2] + of[NR / 2 + 1]) / 2 }'
}

# How long the compiler expands macros: it tells that only to those who are willing to use what is not stable.
expansion() {
    touch "$1/src/main.rs"
    local command
    command=$(CARGO_TERM_QUIET=false cargo check -vv -p "$1" 2>&1 | sed -n "s/^ *Running \`\(.*--crate-name ${1//-/_} .*\)\`$/\1/p")
    RUSTC_BOOTSTRAP=1 bash -c "$command -Z time-passes" 2>&1 | awk '/macro_expand_crate$/ { sub(";", "", $2); print $2 }'
}

export CARGO_INCREMENTAL=0
for ((round = 0; round < rounds; round++)); do
    for program in "${programs[@]}"; do
        touch "$program/src/main.rs"
        seconds cargo check -p "$program" >>"$program/check"
        touch "$program/src/main.rs"
        seconds cargo build -p "$program" >>"$program/build"
        expansion "$program" >>"$program/expand"
    done
done
for program in "${programs[@]}"; do
    cargo rustc -p "$program" -- --emit=llvm-ir -C codegen-units=1 -C no-prepopulate-passes
    cat "$CARGO_TARGET_DIR/debug/deps/${program//-/_}"-*.ll |
        awk '/^define / { in_function = 1 } in_function { lines++ } /^}/ { in_function = 0 } END { print lines }' >"$program/lines"
    rm "$CARGO_TARGET_DIR/debug/deps/${program//-/_}"-*.ll
done
value() { median <"$1/$2"; }
printf '%-14s %10s %10s %10s %12s\n' program expansion check build 'LLVM lines'
for program in "${programs[@]}"; do
    printf '%-14s %10.3f %10.2f %10.2f %12d\n' "$program" "$(value "$program" expand)" "$(value "$program" check)" \
        "$(value "$program" build)" "$(value "$program" lines)"
done
printf '\n%-14s %10s %10s %10s %12s\n' 'each of 49 more' ms ms ms lines
for shape in handlers methods processors; do
    printf '%-14s' "$shape"
    for what in expand check build lines; do
        awk -v few="$(value "$shape-1" "$what")" -v many="$(value "$shape-50" "$what")" \
            -v unit="$([[ $what == lines ]] && echo 1 || echo 1000)" 'BEGIN { printf " %10.1f", (many - few) / 49 * unit }'
    done
    echo
done

export CARGO_INCREMENTAL=1
cargo build -p rebuilt
cargo check -p rebuilt
for ((round = 0; round < rounds; round++)); do
    sed -i "s|$touched|if !word.is_empty() \&\& word != \"$round$RANDOM\" {|" rebuilt/src/main.rs
    seconds cargo check -p rebuilt >>rebuilt/check
    TIMEFORMAT='%R %U' seconds cargo build -p rebuilt >>rebuilt/build
done
printf '\nword-count, after a handler was touched: check %.2f s, build %.2f s (%.2f s by the clock)\n' "$(value rebuilt check)" \
    "$(awk '{ print $2 }' rebuilt/build | median)" "$(awk '{ print $1 }' rebuilt/build | median)"
