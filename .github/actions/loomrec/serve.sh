#!/usr/bin/env bash
# Runs a command behind loomrec, or starts a server for later steps, or stops it and judges the run.
set -euo pipefail

die() { echo "::error::loomrec: $*" >&2; exit 1; }

report=$RUNNER_TEMP/loomrec-report
state=$RUNNER_TEMP/loomrec-server
mkdir -p "$report" "$state"

# Sets `flags`: the mode, the recording, where the report goes, and the flags of the step.
set_flags() {
    flags=("$LOOMREC_ACTION_MODE" -r "$LOOMREC_ACTION_RECORDING" --receipt "$report/loomrec.json")
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then flags+=(--summary "$GITHUB_STEP_SUMMARY"); fi
    case $LOOMREC_ACTION_MODE in
        replay) flags+=(--strict --pending "$report/recording.pending") ;;
        record) ;;
        *) die "mode is replay or record, not $LOOMREC_ACTION_MODE" ;;
    esac
    # xargs reads quotes as a shell does, and expands nothing.
    local words word
    words=$(printf '%s' "$LOOMREC_ACTION_ARGS" | xargs -n 1 printf '%s\n') || die "args has an open quote"
    while IFS= read -r word; do
        if [ -n "$word" ]; then flags+=("$word"); fi
    done <<<"$words"
}

start() {
    set_flags
    # The server outlives this step, so its output goes to a file. `stop` prints it.
    nohup loomrec "${flags[@]}" --listen "$LOOMREC_ACTION_LISTEN" >"$state/log" 2>&1 </dev/null &
    echo $! >"$state/pid"
    wait_until_live "$!"
    export_variables
    cat "$state/log"
}

wait_until_live() {
    local until=$((SECONDS + LOOMREC_ACTION_WAIT))
    until curl --fail --silent "http://$LOOMREC_ACTION_LISTEN/__loomrec/live" >/dev/null; do
        if ! kill -0 "$1" 2>/dev/null; then
            cat "$state/log" >&2
            die "the server did not start"
        fi
        if [ "$SECONDS" -ge "$until" ]; then
            kill "$1"
            die "the server did not answer within $LOOMREC_ACTION_WAIT s"
        fi
        sleep 0.2
    done
}

# Each variable that loomrec would set for a command, in the form that takes any value.
export_variables() {
    local lines end
    # Only these flags are needed, since `--print-env` reads no recording's calls.
    lines=$(loomrec "$LOOMREC_ACTION_MODE" -r "$LOOMREC_ACTION_RECORDING" --listen "$LOOMREC_ACTION_LISTEN" --print-env)
    end=end-$RANDOM$RANDOM$RANDOM
    env -i PATH="$PATH" bash -c "$lines"$'\nenv -0' |
        while IFS= read -r -d '' line; do
            case $line in PATH=* | PWD=* | SHLVL=* | _=*) continue ;; esac
            printf '%s<<%s\n%s\n%s\n' "${line%%=*}" "$end" "${line#*=}" "$end"
        done >>"$GITHUB_ENV"
}

stop() {
    [ -f "$state/pid" ] || die "no server was started; use do: start in an earlier step"
    local pid
    pid=$(cat "$state/pid")
    kill -TERM "$pid" 2>/dev/null || true
    # It is no child of this step: its end can be seen, and its code is judged by the receipt.
    while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done
    rm "$state/pid"
    cat "$state/log"
    [ -f "$report/loomrec.json" ] || die "the server left no receipt"
    grep -Eq '"verdict": *"ok"' "$report/loomrec.json" || die "the run failed; the lines above say why"
}

echo "receipt=$report/loomrec.json" >>"$GITHUB_OUTPUT"
case $LOOMREC_ACTION_DO in
    run)
        [ -n "$LOOMREC_ACTION_RUN" ] || die "run is empty; it holds the command"
        set_flags
        exec loomrec "${flags[@]}" -- bash -eo pipefail -c "$LOOMREC_ACTION_RUN"
        ;;
    start) start ;;
    stop) stop ;;
    *) die "do is run, start, stop or install, not $LOOMREC_ACTION_DO" ;;
esac
