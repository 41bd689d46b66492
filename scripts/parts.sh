# Sourced by scripts that consist of parts: each part says how long it took, and the last lines are a table of all of them.
#
# The outermost script keeps the table and the list of flaky tests (tests/fair) in a folder of its own, $ECOTONE_GATE; scripts
# that it calls add to them. Its caller prints what went wrong in a part; the table only names it.
if [[ -z ${ECOTONE_GATE:-} ]]; then
  ECOTONE_GATE=$(mktemp -d)
  export ECOTONE_GATE
  gate_begun=$SECONDS
  trap 'gate_end $?' EXIT
fi

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# part NAME COMMAND...: what the command returns ends the script unless the caller says otherwise.
part() {
  local name=$1 begun=$SECONDS code=0 word=""
  shift
  printf '\n== %s\n' "$name" >&2
  "$@" || code=$?
  ((code == 0)) || word="  failed ($code)"
  printf '== %s: %s%s\n' "$name" "$(clock $((SECONDS - begun)))" "$word" >&2
  printf '%-58s %6s%s\n' "$name" "$(clock $((SECONDS - begun)))" "$word" >>"$ECOTONE_GATE/parts.txt"
  return "$code"
}

gate_end() {
  local file passed=0 word=passed
  (($1 == 0)) || word=failed
  printf '\n'
  for file in flaky.txt parts.txt; do
    [[ -f $ECOTONE_GATE/$file ]] && sed 's/^[0-9a-f]\{32\}\t//' "$ECOTONE_GATE/$file"
  done
  [[ -f $ECOTONE_GATE/passed.txt ]] && passed=$(($(paste -sd+ "$ECOTONE_GATE/passed.txt")))
  printf '%-58s %6s  %s\n' "all parts" "$(clock $((SECONDS - gate_begun)))" "$word"
  printf '%s passed\n' "$passed"
  rm -rf "$ECOTONE_GATE"
}
