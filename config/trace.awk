# Turns trace.yaml into a C table of src/trace/output/profile_advice.h. Fails at a line that is not of the form that trace.yaml describes.
function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\"" }
BEGIN {
	print "#include \"src/trace/output/profile_advice.h\""
	print "const struct profile_rule profile_rules[] = {"
}
/^#/ || /^$/ { next }
/^[a-z_]+:$/ { if (name) print "},"; name = substr($0, 1, length($0) - 1); print "{ .name = " quoted(name) ","; next }
name && /^  (if|severity|message|meaning|advice|elsewhere): ./ {
	at = index($0, ": ")
	key = substr($0, 3, at - 3)
	print "." (key == "if" ? "condition" : key) " = " quoted(substr($0, at + 2)) ","
	next
}
name && /^  see: (operators|kernels|copies|gaps|memory)$/ { print ".see = SECTION_" toupper($2) ","; next }
{
	print FILENAME ":" FNR ": not of the form \"  key: text\": " $0 > "/dev/stderr"
	exit failed = 1
}
END {
	if (!failed)
		print "}, { 0 } };"
}
