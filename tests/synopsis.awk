# Makes the manual's SYNOPSIS (mdoc) of what pmtop --help=commands prints, a command a line.
function word(text,   parts, count, i, out, value) {
	if (text == "|" || text == "...")
		return text == "..." ? "..." : "|"
	if (text ~ /\|/ && text !~ /^-/) {
		count = split(text, parts, "|")
		for (i = 1; i <= count; i++)
			out = out (i > 1 ? " | " : "") word(parts[i])
		return out
	}
	if (text ~ /^--$/)
		return "Fl -"
	if (text ~ /^-/) {
		sub(/^-/, "", text)
		if (match(text, /=/)) {
			value = substr(text, RSTART + 1); text = substr(text, 1, RSTART - 1)
			return "Fl " text " Ns = Ns Ar " value
		}
		return "Fl " text
	}
	return (text ~ /^[A-Z]/ ? "Ar " : "Cm ") text
}
{
	print ".Nm"
	gsub(/\|/, " | ")
	gsub(/--demo\[=FAULT\]/, "--demo")
	count = split($0, words, " ")
	line = ""
	for (i = 1; i <= count; i++) {
		text = words[i]
		if (text ~ /^\[/) {
			inside = text
			while (inside !~ /\]$/ && i < count)
				inside = inside " " words[++i]
			gsub(/^\[|\]$/, "", inside)
			if (line != "") { print "." line; line = "" }
			n = split(inside, part, " ")
			out = ".Op"
			for (k = 1; k <= n; k++)
				out = out " " word(part[k])
			print out
		} else
			line = line (line == "" ? "" : " ") word(text)
	}
	if (line != "")
		print "." line
}
