package main

import (
	"bufio"
	"io"
)

// applyDelta keeps the object that a delta makes of its base. Its instructions are a stream, and its base is in the
// scratch file, so it needs no memory for either.
func (p *packObjects) applyDelta(delta *bufio.Reader, base packedObject, object *packedObject) error {
	baseSize, err := deltaSize(delta)
	if err != nil {
		return err
	}
	if object.size, err = deltaSize(delta); err != nil {
		return err
	}
	if baseSize != base.size {
		return badDelta()
	}
	return p.keep(object, func(into io.Writer) error {
		left := object.size
		for left > 0 {
			copied, err := p.applyInstruction(delta, base, into, left)
			if err != nil {
				return err
			}
			left -= copied
		}
		if _, err := delta.ReadByte(); err != io.EOF {
			return badDelta()
		}
		return nil
	})
}

// applyInstruction writes what one instruction says, at most left bytes.
func (p *packObjects) applyInstruction(delta *bufio.Reader, base packedObject, into io.Writer, left int64) (int64, error) {
	code, err := delta.ReadByte()
	if err != nil {
		return 0, err
	}
	if code&0x80 == 0 {
		if code == 0 || int64(code) > left {
			return 0, badDelta()
		}
		return int64(code), copyExactly(into, delta, int64(code))
	}
	at, size, err := copyRange(delta, code)
	if err != nil {
		return 0, err
	}
	if size > left || at > base.size-size {
		return 0, badDelta()
	}
	_, err = io.Copy(into, io.NewSectionReader(p.scratch, base.at+at, size))
	return size, err
}

// copyRange reads the offset and the size of a copy: of each the bytes that the bits of the code announce.
func copyRange(delta *bufio.Reader, code byte) (int64, int64, error) {
	var at, size int64
	for bit := range 7 {
		if code&(1<<bit) == 0 {
			continue
		}
		one, err := delta.ReadByte()
		if err != nil {
			return 0, 0, err
		}
		if bit < 4 {
			at |= int64(one) << (8 * bit)
		} else {
			size |= int64(one) << (8 * (bit - 4))
		}
	}
	if size == 0 {
		size = 0x10000
	}
	return at, size, nil
}

func deltaSize(delta *bufio.Reader) (int64, error) {
	var size int64
	for shift := 0; shift < 48; shift += 7 {
		one, err := delta.ReadByte()
		if err != nil {
			return 0, err
		}
		if size |= int64(one&0x7f) << shift; one&0x80 == 0 {
			return size, nil
		}
	}
	return 0, badDelta()
}

func badDelta() error { return failure(exitContent, "a delta of the pack is not valid") }
