package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The media types of bodies (ADR 0012).
const (
	lines    = "application/x-ndjson"
	jsonText = "application/json"
	octets   = "application/octet-stream"
)

// content is the value to store. It can be read repeatedly, because an upload may be repeated.
type content struct {
	name string // for messages
	open func() (io.ReadCloser, error)
	text bool
}

// errTooLarge ends the encoding of a value that exceeds the limit of the termination message.
var errTooLarge = errors.New("too large")

// kind returns the type of the value as the archive names it, and the media type of its body.
func (c content) kind() (string, string, error) {
	if c.text {
		return "string", jsonText, nil
	}
	var first byte
	err := c.read(func(from *bufio.Reader) (err error) {
		first, err = firstOf(from)
		return err
	})
	switch {
	case errors.Is(err, io.EOF):
		return "", "", failure(exitContent, "%s is empty; JSON has null, and --text makes a string of it", c.name)
	case err != nil:
		return "", "", err
	case first == '[':
		return "list", lines, nil
	case first == '{':
		return "object", lines, nil
	case first == '"':
		return "string", jsonText, nil
	case first == 't' || first == 'f':
		return "boolean", jsonText, nil
	case first == 'n':
		return "null", jsonText, nil
	default: // if it is no number either, it is rejected when it is read
		return "number", jsonText, nil
	}
}

// inline returns compact JSON text of at most limit bytes, or errTooLarge.
func (c content) inline(limit int) ([]byte, error) {
	to := &limited{limit: limit}
	if c.text {
		err := c.read(func(from *bufio.Reader) error { return writeString(from, to) })
		return to.text, err
	}
	kind, _, err := c.kind()
	if err != nil {
		return nil, err
	}
	opened, closed := brackets(kind)
	before := opened
	err = c.each(kind, func(key, value []byte) error {
		if key != nil {
			value = fmt.Appendf(nil, "%s:%s", key, value)
		}
		_, err := fmt.Fprintf(to, "%s%s", before, value)
		before = ","
		return err
	})
	if err != nil {
		return nil, err
	}
	if before == opened { // it has no items
		closed = opened + closed
	}
	_, err = io.WriteString(to, closed)
	return to.text, err
}

func brackets(kind string) (string, string) {
	switch kind {
	case "list":
		return "[", "]"
	case "object":
		return "{", "}"
	default:
		return "", ""
	}
}

// body writes the body for the archive: a list has one item per line, an object one `[key,value]`.
func (c content) body(kind string, to io.Writer) error {
	if c.text {
		return c.read(func(from *bufio.Reader) error { return writeString(from, to) })
	}
	return c.each(kind, func(key, value []byte) error {
		switch kind {
		case "list":
			value = append(value, '\n')
		case "object":
			value = fmt.Appendf(nil, "[%s,%s]\n", key, value)
		}
		_, err := to.Write(value)
		return err
	})
}

// each calls emit for each item of a list or an object, else once with the whole value. Texts are compact.
func (c content) each(kind string, emit func(key, value []byte) error) error {
	return c.read(func(from *bufio.Reader) error {
		decoder := json.NewDecoder(from)
		var failed error // of emit, which is no fault of the content
		err := items(decoder, kind, func(key, value []byte) error {
			failed = emit(key, value)
			return failed
		})
		if failed != nil {
			return failed
		}
		return c.explained(err, decoder)
	})
}

// items reads one JSON value to the end of the text.
func items(decoder *json.Decoder, kind string, emit func(key, value []byte) error) error {
	if kind != "list" && kind != "object" {
		if err := item(decoder, nil, emit); err != nil {
			return err
		}
		return ended(decoder)
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		var key []byte
		if kind == "object" {
			token, err := decoder.Token()
			if err != nil {
				return err
			}
			if key, err = quoted(token); err != nil {
				return err
			}
		}
		if err := item(decoder, key, emit); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	return ended(decoder)
}

func item(decoder *json.Decoder, key []byte, emit func(key, value []byte) error) error {
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return err
	}
	if bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) && hasLoneSurrogate(raw) {
		return errors.New("it contains an unpaired surrogate, which UTF-8 cannot encode")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return err
	}
	return emit(key, compact.Bytes())
}

func ended(decoder *json.Decoder) error {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// explained makes an error of the decoder a message for the user.
func (c content) explained(err error, decoder *json.Decoder) error {
	var known *toolError
	if err == nil || errors.As(err, &known) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends early")
	}
	return failure(exitContent, "%s is not JSON (at byte %d): %s; --text makes a string of a text", c.name, decoder.InputOffset(), err)
}

func (c content) read(with func(*bufio.Reader) error) error {
	file, err := c.open()
	if err != nil {
		return failure(exitNoInput, "cannot read %s: %s", c.name, err)
	}
	defer file.Close()
	return with(bufio.NewReaderSize(&utf8Reader{from: file, name: c.name}, 64*1024))
}

func firstOf(from *bufio.Reader) (byte, error) {
	for {
		found, err := from.ReadByte()
		if err != nil || !bytes.ContainsRune([]byte(" \t\r\n"), rune(found)) {
			return found, err
		}
	}
}

// limited is a buffer with a limit.
type limited struct {
	text  []byte
	limit int
}

func (l *limited) Write(more []byte) (int, error) {
	if len(l.text)+len(more) > l.limit {
		return 0, errTooLarge
	}
	l.text = append(l.text, more...)
	return len(more), nil
}
