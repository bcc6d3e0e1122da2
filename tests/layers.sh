#!/bin/sh
# Fails when a file includes a header that its layer may not see; tests/layers.txt is the table.
# Headers of the project are written from the root: "src/model/model.h".
cd "$(dirname "$0")/.." || exit 2
find src ui -name '*.[ch]' ! -path src/main.c -exec grep -nHE '^[[:space:]]*#[[:space:]]*include' {} + |
awk -v table=tests/layers.txt '
function layer_of(path,   folder, best) {
	for (folder in sees)
		if (index(path, folder "/") == 1 && length(folder) > length(best))
			best = folder
	return best
}
function refuse(why) { printf "%s:%s: %s\n", file, line, why; refused++ }
BEGIN {
	while ((getline row < table) > 0) {
		count = split(row, word)
		if (count == 0 || word[1] ~ /^#/)
			continue
		if (word[1] == "private") {
			owner[word[2]] = word[3]
			continue
		}
		if (word[1] == "beside") {
			is_beside[word[2]] = 1
			continue
		}
		sees[word[1]] = " " word[1] " "
		for (i = 2; i <= count; i++)
			sees[word[1]] = sees[word[1]] word[i] " "
	}
}
{
	split($0, part, ":")
	file = part[1]; line = part[2]; mine = layer_of(file)
	if (mine == "") { refuse("its folder is not in " table); next }
	if (match($0, /"[^"]+"/)) {
		header = substr($0, RSTART + 1, RLENGTH - 2); theirs = layer_of(header)
		if (mine in is_beside && index(header, "/") == 0)
			next
		if (theirs == "")
			refuse("\"" header "\" is not written from the root")
		else if (!index(sees[mine], " " theirs " "))
			refuse(mine " may not include " header)
	} else if (match($0, /<[^>]+>/)) {
		header = substr($0, RSTART + 1, RLENGTH - 2)
		for (name in owner)
			if (index(header, name) == 1 && index(file, owner[name]) != 1)
				refuse("<" header "> belongs to " owner[name])
	}
}
END { exit refused > 0 }'
