#!/bin/bash
# Captions in a real terminal, tmux: what it shows while it rolls, when it is resized, and in what can be scrolled back to.
#   tests/live_terminal.sh REPLAY_CAPTIONS        ends with status 77 where there is no tmux
set -uo pipefail
replay=$1
command -v tmux >/dev/null || { echo "skipped: tmux is not here"; exit 77; }
export LC_ALL=C.UTF-8
folder=$(mktemp -d)
mux() { tmux -L "sotto-test-$$" -f /dev/null "$@"; }
trap 'exec 3>&-; mux kill-server 2>/dev/null; rm -rf "$folder"' EXIT
mkfifo "$folder/script"
mux new-session -d -x 60 -y 10 "'$replay' terminal srt='$folder/live.srt' <'$folder/script' 2>'$folder/errors'; sleep 1000"
exec 3>"$folder/script"
failed=0

say() { printf '%s\n' "$1" >&3; }
screen() { mux capture-pane -p "$@" | sed -e 's/ *$//'; }
# expect WHAT PATTERN [OPTIONS OF CAPTURE-PANE]: waits until the screen matches, as lines joined by '|'
expect() {
  local what=$1 pattern=$2 seen= i
  shift 2
  for i in $(seq 100); do
    seen=$(screen "$@" | tr '\n' '|')
    [[ $seen =~ $pattern ]] && return
    sleep 0.05
  done
  echo "FAILED: $what: no $pattern in"; screen "$@"; failed=1
}
# The level comes ten times a second, so that a new size is seen soon; tmux tells it a quarter of a second late or later.
# expect_soon WHAT PATTERN HEARD: expects it with such levels
expect_soon() {
  local seen= i
  for i in $(seq 100); do
    say "{\"heard\":$3,\"level\":-$((i % 50 + 5)),\"speaking\":false}"
    sleep 0.1
    seen=$(screen | tr '\n' '|')
    [[ $seen =~ $2 ]] && return
  done
  echo "FAILED: $1: no $2 in"; screen; failed=1
}
# await_size COLUMNS ROWS: until the program's terminal has it
await_size() {
  local i
  for i in $(seq 100); do
    [ "$(stty size <"$(mux display-message -p '#{pane_tty}')")" = "$2 $1" ] && return
    sleep 0.05
  done
  echo "FAILED: the terminal isn't $1 by $2"; failed=1
}
# reject WHAT PATTERN: the screen as it is now must not match
reject() {
  local seen
  seen=$(screen "${@:3}" | tr '\n' '|')
  if [[ $seen =~ $2 ]]; then echo "FAILED: $1: $2 in"; screen "${@:3}"; failed=1; fi
}

say '{"heard":1,"level":-20,"speaking":true}'
expect "the meter" '● ██████[^|]*0:01'
say '{"heard":2,"committed":"Good morning and","tail":"welcome to all"}'
expect "committed text and tail on one line" '^ Good morning and welcome to all\|'
expect "the tail alone is dimmed" 'and.\[2m welcome to all' -e
say '{"heard":3,"committed":"welcome","tail":"two old friends of mine who came"}'
expect "words wrap at 42 columns" '^ Good morning and welcome two old friends\|+ of mine who came\|'
say '{"heard":4,"committed":"to old friends who came.","ends":true,"behind":1.2}'
expect "how far behind it is" 'behind by 1.2 s'
for i in $(seq 1 12); do say "{\"heard\":$((i + 5)),\"committed\":\"Sentence number $i of twelve.\",\"ends\":true}"; done
expect "the last two lines are the lowest" \
  'number 10 of twelve.\| Sentence number 11 of twelve.\| Sentence number 12 of twelve.\| .*0:17'
reject "a sentence that is there twice" 'number 9 .*number 9 '
say '{"heard":18,"notice":"The microphone is gone\u001b[2J\u0007."}'
expect "a notice" '\(0:17\) The microphone is gone'

say '{"heard":20,"committed":"Wide","tail":"字幕は途中で変わらない 字幕は途中で変わらない 字幕は"}'
expect "full-width characters" 'Wide 字幕'
for width in 30 17 9 60; do  # narrower than the lines that are drawn, and back
  mux resize-window -x "$width" -y 10
  await_size "$width" 10
  expect_soon "the meter at $width columns" '\| ○ ?[^|]*\|+$' 21
  widest=$(screen | tail -4 | wc -L)
  [ "$widest" -le "$width" ] || { echo "FAILED: $widest columns in a window of $width"; failed=1; }
done
for height in 3 1 2 12; do
  mux resize-window -x 60 -y "$height"
  await_size 60 "$height"
  expect_soon "something at $height rows" '[^ |]' 22
done
expect_soon "text and meter after all the resizing" ' Wide 字幕[^|]*\|[^|]*字幕[^|]*\| ○ [^|]*0:2' 22
say '{"heard":23,"committed":"and the end.","ends":true}'
exec 3>&-
expect "the end: committed text without a tail or a meter" 'Wide\|? ?and the end\.\|+$'
reject "a meter that stayed" '○'

history=$(screen -J -S - | tr '\n' ' ')
for i in $(seq 1 12); do
  n=$(grep -o "Sentence number $i of twelve\." <<<"$history" | wc -l)
  [ "$n" = 1 ] || { echo "FAILED: sentence $i is there $n times in what can be scrolled back to"; failed=1; }
done
for text in "Good morning and welcome to old friends" "who came\." "The microphone is gone"; do
  n=$(grep -o "$text" <<<"$history" | wc -l)
  [ "$n" = 1 ] || { echo "FAILED: '$text' is there $n times in what can be scrolled back to"; failed=1; }
done
[ ! -s "$folder/errors" ] || { echo "FAILED:"; cat "$folder/errors"; failed=1; }
[ $failed = 0 ] && echo "the terminal shows what it should"
exit $failed
