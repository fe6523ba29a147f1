# What the runners of the tests share: puts tools into folders that git ignores, and finds the
# binary. A runner sets `runner`, its name in messages, and sources this file.

tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
export PYTHONDONTWRITEBYTECODE=1

die() { echo "${runner:?}: $*" >&2; exit 1; }

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is needed and not on the PATH"
    done
}

# with_patience LOG COMMAND…: registries have bad moments: a download gets three tries.
with_patience() {
    local log=$1 try
    shift
    for try in 1 2 3; do
        if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
        sleep $((try * 3))
    done
    cat "$log" >&2
    return 1
}

is_installed() { [ -f "$1/.stamp" ] && [ "$(cat "$1/.stamp")" = "$2" ]; }

# install_python HOME REQUIREMENTS: the packages that a file lists, in a virtual environment. Some
# distributions ship python3 without ensurepip, hence without venv: there, in a folder.
install_python() {
    local home=$1 list=$2 stamp
    need python3
    stamp=$( { cat "$list"; python3 --version; echo "$home"; } | sha256sum)
    if is_installed "$home" "$stamp"; then return; fi
    rm -rf "$home" && mkdir -p "$home"
    if python3 -m venv "$home/venv" >"$home/install.log" 2>&1; then
        with_patience "$home/install.log" "$home/venv/bin/python" -m pip install --quiet -r "$list" ||
            die "could not install what $list lists"
    elif python3 -m pip --version >/dev/null 2>&1; then
        rm -rf "$home/venv"
        with_patience "$home/install.log" python3 -m pip install --quiet --target "$home/site" -r "$list" ||
            die "could not install what $list lists"
    else
        die "python3 here has neither venv nor pip; install python3-venv (or python3-pip)"
    fi
    echo "$stamp" >"$home/.stamp"
}

# use_python HOME [FOLDER…]: sets `python` to the interpreter that has the packages of HOME, and
# the folders on its path.
use_python() {
    local home=$1 IFS=:
    shift
    python=$home/venv/bin/python
    if [ ! -d "$home/venv" ]; then
        python=python3
        set -- "$home/site" "$@"
        PATH=$home/site/bin:$PATH
    fi
    export PYTHONPATH="$*"
}

# install_node HOME FOLDER: what the folder's package-lock.json lists, in HOME/node_modules.
install_node() {
    local home=$1 from=$2 stamp
    need node npm
    stamp=$( { cat "$from/package.json" "$from/package-lock.json"; node --version; } | sha256sum)
    if is_installed "$home" "$stamp"; then return; fi
    rm -rf "$home/node_modules" "$home/.stamp"
    mkdir -p "$home"
    cp "$from/package.json" "$from/package-lock.json" "$home/"
    with_patience "$home/install.log" \
        npm ci --prefix "$home" --ignore-scripts --no-audit --no-fund --loglevel=error ||
        die "could not install what $from/package.json lists"
    echo "$stamp" >"$home/.stamp"
}

# unpack_debian PACKAGE HOME: the files of Debian's package in HOME/root: no service is started, no
# root is needed.
unpack_debian() {
    local package=$1 home=$2 own
    rm -rf "$home/root" "$home/apt"
    mkdir -p "$home"
    (
        set -e
        cd "$home"
        if ! apt-get -o Acquire::Retries=3 download "$package"; then
            # A fresh machine has no lists of packages, and only root may fetch the system's:
            # these are our own.
            mkdir -p apt/lists/partial apt/cache/archives/partial
            own=(-o Acquire::Retries=3 -o "Dir::State::Lists=$home/apt/lists"
                -o "Dir::Cache=$home/apt/cache" -o APT::Sandbox::User=)
            apt-get "${own[@]}" update
            apt-get "${own[@]}" download "$package"
            rm -rf apt
        fi
        dpkg -x "$package"_*.deb root
        rm "$package"_*.deb
    ) >"$home/install.log" 2>&1 </dev/null
}

# Sets LOOMREC_BIN to the absolute path of the binary: LOOMREC_BIN or LOOMREC, or else
# target/debug/loomrec, built first.
find_binary() {
    LOOMREC_BIN=${LOOMREC_BIN:-${LOOMREC:-}}
    if [ -z "${LOOMREC_BIN:-}" ]; then
        (cd "$root" && cargo build-all --quiet --locked)
        LOOMREC_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/loomrec
    fi
    [ -x "$LOOMREC_BIN" ] || die "no binary at $LOOMREC_BIN"
    LOOMREC_BIN=$(realpath "$LOOMREC_BIN")
    export LOOMREC_BIN
}
