package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// utf8Reader fails at the first bytes that are not UTF-8. The JSON decoder of Go would replace them.
type utf8Reader struct {
	from io.Reader
	name string
	held []byte // the start of a character whose rest is not read yet
	at   int64
}

func (r *utf8Reader) Read(into []byte) (int, error) {
	if len(into) < 2*utf8.UTFMax {
		return 0, io.ErrShortBuffer
	}
	kept := copy(into, r.held)
	read, err := r.from.Read(into[kept:])
	found := into[:kept+read]
	whole := len(found)
	if !errors.Is(err, io.EOF) {
		whole = wholeCharacters(found)
	}
	r.held = append(r.held[:0:0], found[whole:]...)
	for at := 0; at < whole; {
		character, size := utf8.DecodeRune(found[at:whole])
		if character == utf8.RuneError && size < 2 {
			return 0, failure(exitContent, "%s is not UTF-8 (at byte %d)", r.name, r.at+int64(at))
		}
		at += size
	}
	r.at += int64(whole)
	var known *toolError
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &known) {
		err = failure(exitNoInput, "cannot read %s: %s", r.name, err)
	}
	return whole, err
}

// wholeCharacters returns the length without an unfinished character at the end.
func wholeCharacters(text []byte) int {
	for back := 1; back <= utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				return start
			}
			break
		}
	}
	return len(text)
}

// writeString writes text as a JSON string.
func writeString(from *bufio.Reader, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64*1024)
	out.WriteByte('"')
	for {
		character, _, err := from.ReadRune()
		if errors.Is(err, io.EOF) {
			out.WriteByte('"')
			return out.Flush()
		}
		if err != nil {
			return err
		}
		switch {
		case character == '"' || character == '\\':
			out.WriteByte('\\')
			out.WriteRune(character)
		case character == '\n':
			out.WriteString(`\n`)
		case character < ' ':
			fmt.Fprintf(out, `\u%04x`, character)
		default:
			if _, err := out.WriteRune(character); err != nil {
				return err
			}
		}
	}
}

// quoted returns a key as a JSON string.
func quoted(key any) ([]byte, error) {
	var to bytes.Buffer
	encoder := json.NewEncoder(&to)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(key)
	return bytes.TrimSpace(to.Bytes()), err
}

// hasLoneSurrogate reports whether JSON text has an escape `\ud800` to `\udfff` without its counterpart.
func hasLoneSurrogate(text []byte) bool {
	high := false // the escape before was the first of a pair
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			if high {
				return true
			}
			continue
		}
		at++
		if at+4 >= len(text) || text[at] != 'u' {
			if high {
				return true
			}
			continue
		}
		unit, err := strconv.ParseUint(string(text[at+1:at+5]), 16, 32)
		at += 4
		switch {
		case err != nil:
			return false // the decoder reports it
		case high != (unit >= 0xdc00 && unit <= 0xdfff):
			return true
		default:
			high = !high && utf16.IsSurrogate(rune(unit))
		}
	}
	return high
}
