# Turns frameworks.yaml into a C table of src/base/frameworks.h. Fails at a line that is not of the form "- name: …", "  file: …" or "  line: …".
BEGIN {
	print "#include \"src/base/frameworks.h\""
	print "const struct framework frameworks[] = {"
}
/^#/ || /^$/ { next }
/^- name: / { name = substr($0, 9); next }
/^  file: / { file = substr($0, 9); next }
/^  line: / {
	gsub(/["\\]/, "\\\\&")
	printf "{ \"%s\", \"%s\", \"%s\" },\n", name, file, substr($0, 9)
	next
}
{
	print FILENAME ":" FNR ": not of the form \"- name: …\", \"  file: …\" or \"  line: …\": " $0 > "/dev/stderr"
	exit failed = 1
}
END {
	if (!failed)
		print "{ 0 } };"
}
