# What the runners of this folder share. Sourced after `here` is set to this folder.

runner=tests/remote/$(basename "$0")
. "$here/../install.sh"
home=$root/.cache/remote

# Sets `python` to an interpreter that has the tools.
install_tools() {
    install_python "$home" "$here/requirements.txt"
    use_python "$home"
}

# Sets LOOMREC to the absolute path of the binary.
find_remote_binary() {
    find_binary
    export LOOMREC=$LOOMREC_BIN
    "$LOOMREC" push --help >/dev/null 2>&1 || die "$LOOMREC was built without the feature remote"
}
