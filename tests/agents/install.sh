# Installs programs, each into a folder of its own, and builds loomrec. The runners of agents
# and of frameworks source it.

die() { echo "${runner:?}: $*" >&2; exit 1; }

# Installs the programs that a file lists, a line each: name, registry, packages. Sets `cache`
# to their folder. A program whose packages cannot be installed is not run.
install_programs() {
    local list=$1 name registry packages tool
    for tool in python3 git node npm; do
        command -v "$tool" >/dev/null || die "$tool is needed and not on the PATH"
    done
    mkdir -p "$2"
    # The real path: work trees may share this folder through a link.
    cache=$(cd "$2" && pwd -P)
    while read -r name registry packages; do
        case $name in ''|'#'*) continue ;; esac
        install_program "$cache/$name" "$registry" "$packages"
    done <"$list"
}

install_program() {
    local home=$1 registry=$2 packages=$3 stamp try
    stamp="$registry $packages $home $(python3 --version) $(node --version)"
    if [ -f "$home/.stamp" ] && [ "$(cat "$home/.stamp")" = "$stamp" ]; then return; fi
    rm -rf "$home" && mkdir -p "$home"
    for try in 1 2 3; do
        # shellcheck disable=SC2086
        if "install_$registry" "$home" $packages >"$home/install.log" 2>&1; then
            echo "$stamp" >"$home/.stamp"
            return
        fi
        sleep $((try * 3))
    done
    echo "${packages%% *} could not be installed" >"$home/not-installed"
}

install_npm() { npm install --prefix "$1" --no-audit --no-fund --loglevel=error "${@:2}"; }

install_pypi() {
    python3 -m venv "$1/venv" && "$1/venv/bin/python" -m pip install --quiet "${@:2}"
}

# Sets `binary` to LOOMREC_BIN, or else builds target/debug/loomrec.
find_binary() {
    binary=${LOOMREC_BIN:-}
    if [ -z "$binary" ]; then
        (cd "$root" && cargo build-all --quiet --locked)
        binary=${CARGO_TARGET_DIR:-$root/target}/debug/loomrec
    fi
    [ -x "$binary" ] || die "no binary at $binary"
    binary=$(realpath "$binary")
}
