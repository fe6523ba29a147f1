#!/usr/bin/env bash
# Downloads a release's archive, checks its SHA-256, and puts loomrec on the PATH of later steps.
set -euo pipefail

die() { echo "::error::loomrec: $*" >&2; exit 1; }

target() {
    case "$RUNNER_OS-$RUNNER_ARCH" in
        Linux-X64) if musl; then echo x86_64-unknown-linux-musl; else echo x86_64-unknown-linux-gnu; fi ;;
        Linux-ARM64) if musl; then echo aarch64-unknown-linux-musl; else echo aarch64-unknown-linux-gnu; fi ;;
        macOS-X64) echo x86_64-apple-darwin ;;
        macOS-ARM64) echo aarch64-apple-darwin ;;
        *) die "there is no package for $RUNNER_OS on $RUNNER_ARCH" ;;
    esac
}

musl() { compgen -G '/lib/ld-musl-*' >/dev/null; }

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

fetch() {
    curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" ||
        die "could not download $1"
}

triple=$(target)
name=loomrec-$triple
case $LOOMREC_ACTION_VERSION in
    latest) address=$LOOMREC_ACTION_RELEASES/latest/download ;;
    *) address=$LOOMREC_ACTION_RELEASES/download/v${LOOMREC_ACTION_VERSION#v} ;;
esac
home=$RUNNER_TEMP/loomrec-install
rm -rf "$home" && mkdir -p "$home"
fetch "$address/$name.tar.gz" "$home/$name.tar.gz"

expected=$LOOMREC_ACTION_SHA256
if [ -z "$expected" ]; then
    fetch "$address/SHA256SUMS" "$home/SHA256SUMS"
    expected=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$home/SHA256SUMS")
    [ -n "$expected" ] || die "SHA256SUMS of the release has no line for $name.tar.gz"
fi
found=$(sha256 "$home/$name.tar.gz")
[ "$found" = "$expected" ] || die "$name.tar.gz has SHA-256 $found, not $expected"

tar -xzf "$home/$name.tar.gz" -C "$home"
echo "$home/$name" >>"$GITHUB_PATH"
"$home/$name/loomrec" --version
