# Turns phases.yaml into a C table of src/model/code/code_phases.h. Fails at a line that is not of the form that phases.yaml describes.
BEGIN {
	print "#include \"src/model/code/code_phases.h\""
	print "const struct code_phase_row code_phase_rows[] = {"
}
/^#/ || /^$/ { next }
/^[a-z_]+:$/ { phase = toupper(substr($0, 1, length($0) - 1)); next }
phase && /^  [^ ].*: (any|\[[A-Za-z0-9_, ]+\])$/ {
	at = index($0, ": ")
	file = substr($0, 3, at - 3)
	functions = substr($0, at + 2)
	caller = "NULL"
	if (split(file, pair, " > ") == 2) {
		caller = "\"" pair[1] "\""
		file = pair[2]
	}
	gsub(/[\[\]]/, "", functions)
	count = split(functions, names, ", ")
	for (i = 1; i <= count; i++)
		printf "{ CODE_PHASE_%s, %s, \"%s\", %s },\n", phase, caller, file, functions == "any" ? "NULL" : "\"" names[i] "\""
	next
}
{
	print FILENAME ":" FNR ": not of the form \"  file: [function, …]\": " $0 > "/dev/stderr"
	exit failed = 1
}
END {
	if (!failed)
		print "{ 0 } };"
}
