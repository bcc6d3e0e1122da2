# Completion of pmtop for bash. What it offers is what the program says of itself (pmtop --help=commands), a command a line.
_pmtop() {
	local word=${COMP_WORDS[COMP_CWORD]} synopses command='' line i
	synopses=$("${COMP_WORDS[0]}" --help=commands 2>/dev/null) || return
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in -b|--once|[a-z]*) command=${COMP_WORDS[i]}; break;; esac
	done
	case $word in
	-*)
		line=$(grep -E -- "^${command:--p}( |\$)" <<< "$synopses")
		COMPREPLY=($(compgen -W "$(grep -oE -- '--?[a-z][a-z-]*=?' <<< "$line") --help" -- "$word"))
		[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
		;;
	*)
		if [[ ${COMP_WORDS[COMP_CWORD - 1]} == -p ]]; then
			COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" list --json 2>/dev/null | grep -oE '"pid": *[0-9]+' | grep -oE '[0-9]+')" -- "$word"))
		elif [[ -z $command ]]; then
			COMPREPLY=($(compgen -W "$(grep -oE '^[a-z]+' <<< "$synopses")" -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi
		;;
	esac
}
complete -F _pmtop pmtop
