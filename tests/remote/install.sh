# What the runners of this folder share: installs the tools, and finds the binary.
# Sourced after `here` is set to this folder.

runner=tests/remote/$(basename "$0")
root=$(cd "$here/../.." && pwd)
home=$root/.cache/remote
export PYTHONDONTWRITEBYTECODE=1

die() { echo "$runner: $*" >&2; exit 1; }

# Registries have bad moments: a download gets three tries.
with_patience() {
    local try
    for try in 1 2 3; do
        if "$@" >"$home/install.log" 2>&1; then return 0; fi
        sleep $((try * 3))
    done
    cat "$home/install.log" >&2
    return 1
}

# Sets `python` to an interpreter that has the tools.
install_tools() {
    local stamp
    command -v python3 >/dev/null || die "python3 is needed and not on the PATH"
    stamp=$( { cat "$here/requirements.txt"; python3 --version; echo "$home"; } | sha256sum)
    python=$home/venv/bin/python
    if [ -f "$home/.stamp" ] && [ "$(cat "$home/.stamp")" = "$stamp" ]; then return; fi
    rm -rf "$home" && mkdir -p "$home"
    python3 -m venv "$home/venv" || die "python3 here has no venv; install python3-venv"
    with_patience "$python" -m pip install --quiet -r "$here/requirements.txt" ||
        die "could not install the tools of the tests"
    echo "$stamp" >"$home/.stamp"
}

# Sets LOOMREC to the absolute path of the binary.
find_binary() {
    LOOMREC=${LOOMREC:-${LOOMREC_BIN:-}}
    if [ -z "$LOOMREC" ]; then
        (cd "$root" && cargo build-all --quiet --locked)
        LOOMREC=${CARGO_TARGET_DIR:-$root/target}/debug/loomrec
    fi
    [ -x "$LOOMREC" ] || die "no binary at $LOOMREC"
    LOOMREC=$(realpath "$LOOMREC")
    export LOOMREC
    "$LOOMREC" push --help >/dev/null 2>&1 || die "$LOOMREC was built without the feature remote"
}
