package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The special packets of Git's pkt-line format (gitprotocol-common).
const (
	flushPacket   = "0000"
	delimiter     = "0001"
	packetMax     = 65520
	packetsMax    = 100_000 // of an answer that is not a pack
	sideData      = 1
	sideProgress  = 2
	sideError     = 3
	remoteTextMax = 200
)

func packetLine(text string) string { return fmt.Sprintf("%04x%s\n", len(text)+5, text) }

// packets reads pkt-lines. What the server sends is not trusted.
type packets struct {
	from   io.Reader
	buffer [packetMax]byte
	count  int
}

// next returns the content of a packet, and whether it is a special one: a flush, a delimiter, or the end of a response.
func (p *packets) next() ([]byte, bool, error) {
	if _, err := io.ReadFull(p.from, p.buffer[:4]); err != nil {
		return nil, false, err
	}
	size, err := strconv.ParseUint(string(p.buffer[:4]), 16, 16)
	if err != nil || size > packetMax || size == 3 {
		return nil, false, failure(exitContent, "the server does not send Git packets")
	}
	if size < 4 {
		return nil, true, nil
	}
	content := p.buffer[:size-4]
	if _, err := io.ReadFull(p.from, content); err != nil {
		return nil, false, err
	}
	if message, isError := strings.CutPrefix(string(content[:min(len(content), remoteTextMax)]), "ERR "); isError {
		return nil, false, failure(exitContent, "the server says: %s", printable(message))
	}
	return content, false, nil
}

// line returns the text of a packet without its line end; false at a special packet.
func (p *packets) line() (string, bool, error) {
	if p.count++; p.count > packetsMax {
		return "", false, failure(exitContent, "the server sends more than %d lines", packetsMax)
	}
	content, special, err := p.next()
	return strings.TrimSuffix(string(content), "\n"), !special && err == nil, err
}

// sideband is the pack in a response: the packets of band 1.
type sideband struct {
	packets *packets
	held    []byte
}

func (s *sideband) Read(into []byte) (int, error) {
	for len(s.held) == 0 {
		content, special, err := s.packets.next()
		if err != nil {
			return 0, err
		}
		if special {
			return 0, io.EOF
		}
		if len(content) == 0 {
			continue
		}
		switch content[0] {
		case sideData:
			s.held = content[1:]
		case sideProgress:
		case sideError:
			return 0, failure(exitContent, "the server says: %s", printable(string(content[1:min(len(content), remoteTextMax)])))
		default:
			return 0, failure(exitContent, "the server does not send a pack")
		}
	}
	count := copy(into, s.held)
	s.held = s.held[count:]
	return count, nil
}

// printable makes a text of a server one line of printable characters.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, text))
}
