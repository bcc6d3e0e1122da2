#compdef pmtop
# Completion of pmtop for zsh, installed as _pmtop. The program says what it offers: pmtop --help=complete WORD ..., of which the last is being typed.
local line text files=0
local -a offered shown open open_shown
local at=${words[(i)--]}
if (( at < CURRENT )); then
	shift $at words
	(( CURRENT -= at ))
	_normal
	return
fi
for line in ${(f)"$(_call_program candidates ${(q)words[1]} --help=complete ${(q)words[2,CURRENT-1]} ${(q)PREFIX:-''} 2>/dev/null)"}; do
	text=${line%%$'\t'*}
	case $line in
	:files) files=1 ;;
	*=|*=$'\t'*) open+=("$text") open_shown+=("${line/$'\t'/  }") ;;
	*) offered+=("$text") shown+=("${line/$'\t'/  }") ;;
	esac
done
(( $#offered )) && compadd -l -d shown -a offered
(( $#open )) && compadd -l -S '' -d open_shown -a open
if (( files )); then
	[[ $PREFIX == --*=* ]] && compset -P '*='
	_files
fi
