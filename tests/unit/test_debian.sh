#!/bin/sh
# The lists of the Debian packages name what `make install` installs, each file once; and `make uninstall` leaves nothing of it.
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
check() {
	name=$1
	shift
	if "$@" > "$scratch/out" 2>&1 < /dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "not ok: $name"; sed 's/^/    /' "$scratch/out" | head -n 20; fi
}
make_it() { MAKEFLAGS='' make -s BUILD="$PMTOP_BUILD" PREFIX=/usr ZSHDIR=/usr/share/zsh/vendor-completions DESTDIR="$scratch/root" PYTHON=true "$1"; }
check installs make_it install
check each_file_belongs_to_one_package config/debian/build --check "$scratch/root/usr"
touch "$scratch/root/usr/bin/other"
check file_of_no_package_is_refused sh -c '! config/debian/build --check "$1" | grep -v "bin/other is in 0 lists" && ! config/debian/build --check "$1"' sh "$scratch/root/usr"
rm "$scratch/root/usr/bin/other" "$scratch/root/usr/share/fish/vendor_completions.d/pmtop.fish"
check missing_file_is_refused sh -c '! config/debian/build --check "$1" > "$2" && grep -qx "config/debian: share/fish/vendor_completions.d/pmtop.fish is not installed" "$2"' sh "$scratch/root/usr" "$scratch/said"
check uninstalls make_it uninstall
check nothing_is_left sh -c '! find "$1" ! -type d | grep .' sh "$scratch/root"
check version_is_the_programs grep -qE "^pmtop \\($(sed -n 's/^VERSION := //p' Makefile)\\) " config/debian/changelog

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
