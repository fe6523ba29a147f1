# Installs programs, each into a folder of its own. The runners of agents and of frameworks source
# it.

. "$(dirname "${BASH_SOURCE[0]}")/../install.sh"

# Installs the programs that a file lists, a line each: name, registry, packages. Sets `cache`
# to their folder. A program whose packages cannot be installed is not run.
install_programs() {
    local list=$1 name registry packages
    need python3 git node npm
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
    if is_installed "$home" "$stamp"; then return; fi
    rm -rf "$home" && mkdir -p "$home"
    for try in 1 2 3; do
        # shellcheck disable=SC2086
        if "install_${registry%%3*}" "$home" "$registry" $packages >"$home/install.log" 2>&1; then
            echo "$stamp" >"$home/.stamp"
            return
        fi
        sleep $((try * 3))
    done
    echo "${packages%% *} could not be installed" >"$home/not-installed"
}

install_npm() { npm install --prefix "$1" --no-audit --no-fund --loglevel=error "${@:3}"; }

# The registry `pypi3.12` is PyPI for a program that needs this version of Python.
install_pypi() {
    local python
    python=$(find_python "${2#pypi}") || { echo "Python ${2#pypi} is needed"; return 1; }
    "$python" -m venv "$1/venv" && "$1/venv/bin/python" -m pip install --quiet "${@:3}"
}

# Prints the interpreter of this version, on the PATH or of pyenv; `python3` without a version.
find_python() {
    local found
    if [ -z "$1" ]; then echo python3; return; fi
    for found in "$(command -v "python$1" || true)" "$HOME/.pyenv/versions/$1".*/bin/python; do
        if [ -x "$found" ] && "$found" -c 'import venv' 2>/dev/null; then echo "$found"; return; fi
    done
    return 1
}

# Builds the library that shifts the clock of programs that do not run under libfaketime, and sets
# LOOMREC_TEST_SHIFT_CLOCK to it. Without a C compiler such programs get another time zone.
build_shift_clock() {
    command -v cc >/dev/null || return 0
    cc -O2 -shared -fPIC -o "$cache/shift_clock.so" "$here/shift_clock.c" -ldl \
        >"$cache/shift_clock.log" 2>&1 || return 0
    export LOOMREC_TEST_SHIFT_CLOCK=$cache/shift_clock.so
}
