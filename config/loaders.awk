# Turns loaders.yaml into a C table of src/sources/python/counters/py_between.h. Fails at a line that is not of the form "- PART".
BEGIN {
	print "#include \"src/sources/python/counters/py_between.h\""
	print "const char *const py_between[] = {"
}
/^#/ || /^$/ { next }
/^- [^ "\\]+$/ { printf "\"%s\",\n", substr($0, 3); next }
{
	print FILENAME ":" FNR ": not of the form \"- PART\": " $0 > "/dev/stderr"
	exit failed = 1
}
END {
	if (!failed)
		print "(const char *)0 };"
}
