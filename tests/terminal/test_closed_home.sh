#!/bin/sh
# A home folder that cannot be read is a warning: the training starts all the same. A file named by --config must be there.
scratch=$(mktemp -d /tmp/pmtop-home.XXXXXX)
export LC_ALL=C.UTF-8
unset XDG_CONFIG_HOME
passed=0 failed=0
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
chmod 777 "$scratch"
cp "$PMTOP_BUILD/pmtop" pmtop
chmod 755 pmtop
mkdir -m 700 closed
mkdir -p open/.config
echo file > home-is-a-file
ln -s loop loop
mkdir -p looped wrong/.config/pmtop
ln -s .config looped/.config
printf 'flags:\n  dqwindow: 3\n' > wrong/.config/pmtop/pmtop.yaml

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$1" timeout 120 "$scratch/pmtop" -b -d 0.1 $2 -- sh -c 'touch "$1"; sleep 1' sh "$scratch/started" > out 2> err < /dev/null; }

# try NAME HOME CODE STARTED PATTERN [OPTION]: the exit code, whether the command ran, and what standard error says ("" = nothing).
try() {
	rm -f started
	as_nobody "$2" "$6"
	code=$? ran=no
	[ ! -e started ] || ran=yes
	if [ "$code" = "$3" ] && [ "$ran" = "$4" ] && { if [ -n "$5" ]; then grep -q "$5" err; else [ ! -s err ]; fi; }; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok: $1: exit $code, started: $ran"
		sed 's/^/    /' err | head -n 5
	fi
}

defaults='using the default settings$'
try a_closed_home "$scratch/closed" 0 yes "Permission denied: $defaults"
try links_in_a_ring "$scratch/looped" 0 yes "Too many levels of symbolic links: $defaults"
try a_home_that_is_a_file "$scratch/home-is-a-file" 0 yes ''
try an_open_home "$scratch/open" 0 yes ''
try no_home_at_all "$scratch/nowhere" 0 yes ''
try a_wrong_setting_is_refused "$scratch/wrong" 2 no 'unknown key'
try a_named_file_is_needed "$scratch/open" 2 no 'Permission denied' "--config=$scratch/closed/pmtop.yaml"
try a_named_file_that_is_missing "$scratch/open" 2 no 'no such file' "--config=$scratch/missing.yaml"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
