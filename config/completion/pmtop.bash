# Completion of pmtop for bash. The program says what it offers: pmtop --help=complete WORD ..., of which the last is being typed.
_pmtop() {
	local line=${COMP_LINE:0:COMP_POINT} words word value offered cut i
	read -ra words <<< "$line"
	[[ $line == *[[:space:]] ]] && words+=('')
	word=${words[${#words[@]} - 1]} value=$word
	[[ $word == --*=* ]] && value=${word#*=}
	offered=$("${words[0]/#\~/$HOME}" --help=complete "${words[@]:1}" 2>/dev/null) || return
	if [[ $offered == :command ]]; then
		for ((i = 1; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == -- ]] && break; done
		if declare -F _command_offset > /dev/null; then
			_command_offset $((i + 1))
		elif ((COMP_CWORD == i + 1)); then
			COMPREPLY=($(compgen -c -- "$word"))
		else
			COMPREPLY=($(compgen -f -- "$word"))
		fi
		return
	fi
	# bash replaces only what follows the last = or : of the word.
	cut=${word%"${word##*[=:]}"}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		'') ;;
		:files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$value") ;;
		*)
			line=${line%%$'\t'*}
			[[ $line == *= ]] && compopt -o nospace 2>/dev/null
			COMPREPLY+=("${line#"$cut"}") ;;
		esac
	done <<< "$offered"
}
complete -F _pmtop pmtop
