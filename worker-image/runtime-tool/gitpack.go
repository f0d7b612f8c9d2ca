package main

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sort"
)

const (
	objectsMax = 200_000 // objects of a pack: with their index in memory
	scratchMax = 5 << 30 // bytes of all objects of a pack, not compressed
)

// The types of objects in a pack (gitformat-pack).
const (
	commitObject = 1
	treeObject   = 2
	blobObject   = 3
	tagObject    = 4
	offsetDelta  = 6
	refDelta     = 7
)

var objectNames = map[byte]string{commitObject: "commit", treeObject: "tree", blobObject: "blob", tagObject: "tag"}

type objectID [sha1.Size]byte

func (id objectID) String() string { return hex.EncodeToString(id[:]) }

// packedObject is an object of a pack: its offset in the pack, and its content in the scratch file.
type packedObject struct {
	offset, at, size int64
	kind             byte
}

// packObjects are the objects of a pack, each as a whole in a scratch file. So memory has their index alone.
type packObjects struct {
	scratch *os.File
	end     int64
	objects []packedObject // by their offset
	byID    map[objectID]int32
	reader  io.ReadCloser // of zlib, which is used again: it has 40 kB
}

// packStream counts and hashes what has been read of a pack. zlib reads it by bytes, so it never reads beyond an object.
type packStream struct {
	from   *bufio.Reader
	digest hash.Hash
	at     int64
	held   []byte // read, and not hashed yet
}

func newPackStream(from io.Reader) *packStream {
	return &packStream{from: bufio.NewReaderSize(from, 64*1024), digest: sha1.New(), held: make([]byte, 0, 64*1024)}
}

func (p *packStream) ReadByte() (byte, error) {
	one, err := p.from.ReadByte()
	if err == nil {
		p.passed(one)
	}
	return one, err
}

func (p *packStream) Read(into []byte) (int, error) {
	count, err := p.from.Read(into)
	p.passed(into[:count]...)
	return count, err
}

func (p *packStream) passed(data ...byte) {
	p.at += int64(len(data))
	if len(p.held)+len(data) > cap(p.held) {
		p.sum()
	}
	if len(data) > cap(p.held) {
		p.digest.Write(data)
		return
	}
	p.held = append(p.held, data...)
}

func (p *packStream) sum() []byte {
	p.digest.Write(p.held)
	p.held = p.held[:0]
	return p.digest.Sum(nil)
}

// readPack reads a pack of a server that is not trusted. All is bounded: objects, bytes, and the depth of deltas, because
// the base of a delta is already whole.
func readPack(from io.Reader, scratch *os.File) (*packObjects, error) {
	stream := newPackStream(from)
	var header [12]byte
	if _, err := io.ReadFull(stream, header[:]); err != nil {
		return nil, err
	}
	count := binary.BigEndian.Uint32(header[8:])
	if string(header[:4]) != "PACK" || binary.BigEndian.Uint32(header[4:]) != 2 {
		return nil, failure(exitContent, "the server does not send a pack of version 2")
	}
	if count > objectsMax {
		return nil, failure(exitContent, "the commit has %d objects; the limit is %d: fetch a smaller repository, or clone it in pod.initContainers", count, objectsMax)
	}
	pack := &packObjects{scratch: scratch, objects: make([]packedObject, 0, count), byID: make(map[objectID]int32, count)}
	for range count {
		if err := pack.readObject(stream); err != nil {
			return nil, err
		}
	}
	expected, trailer := stream.sum(), make([]byte, sha1.Size)
	if _, err := io.ReadFull(stream.from, trailer); err != nil {
		return nil, err
	}
	if string(expected) != string(trailer) {
		return nil, errors.New("the pack is not what its checksum says")
	}
	return pack, nil
}

func (p *packObjects) readObject(stream *packStream) error {
	offset := stream.at
	kind, size, err := readObjectHeader(stream)
	if err != nil {
		return err
	}
	object := packedObject{offset: offset, at: p.end, size: size, kind: kind}
	var base packedObject
	if kind == offsetDelta || kind == refDelta {
		if base, err = p.readBase(stream, kind, offset); err != nil {
			return err
		}
		object.kind = base.kind
	} else if objectNames[kind] == "" {
		return failure(exitContent, "the pack has an object of the unknown type %d", kind)
	}
	inflated, err := p.inflate(stream)
	if err != nil {
		return damaged(err)
	}
	content := bufio.NewReaderSize(io.LimitReader(inflated, size), 4096)
	if kind == offsetDelta || kind == refDelta {
		err = p.applyDelta(content, base, &object)
	} else {
		err = p.keep(&object, func(into io.Writer) error { return copyExactly(into, content, size) })
	}
	if err != nil {
		return err
	}
	return atEnd(inflated)
}

func (p *packObjects) inflate(stream *packStream) (io.Reader, error) {
	if p.reader == nil {
		var err error
		p.reader, err = zlib.NewReader(stream)
		return p.reader, err
	}
	return p.reader, p.reader.(zlib.Resetter).Reset(stream, nil)
}

// atEnd reads the end of a compressed object, with its checksum.
func atEnd(inflated io.Reader) error {
	var one [1]byte
	if count, err := inflated.Read(one[:]); count > 0 || !errors.Is(err, io.EOF) {
		return failure(exitContent, "an object of the pack is longer than it says")
	}
	return nil
}

func readObjectHeader(stream *packStream) (byte, int64, error) {
	one, err := stream.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size := one>>4&7, int64(one&15)
	for shift := 4; one&0x80 != 0; shift += 7 {
		if one, err = stream.ReadByte(); err != nil {
			return 0, 0, err
		}
		if shift > 46 {
			return 0, 0, failure(exitContent, "an object of the pack is too large")
		}
		size |= int64(one&0x7f) << shift
	}
	return kind, size, nil
}

// readBase returns the base of a delta, which comes before it in the pack.
func (p *packObjects) readBase(stream *packStream, kind byte, offset int64) (packedObject, error) {
	if kind == refDelta {
		var id objectID
		if _, err := io.ReadFull(stream, id[:]); err != nil {
			return packedObject{}, err
		}
		return p.find(id)
	}
	back := int64(-1)
	for {
		one, err := stream.ReadByte()
		if err != nil {
			return packedObject{}, err
		}
		if back++; back > 1<<46 {
			return packedObject{}, failure(exitContent, "the pack refers to an object that it does not have")
		}
		if back = back<<7 | int64(one&0x7f); one&0x80 == 0 {
			break
		}
	}
	at := sort.Search(len(p.objects), func(i int) bool { return p.objects[i].offset >= offset-back })
	if at == len(p.objects) || p.objects[at].offset != offset-back {
		return packedObject{}, failure(exitContent, "the pack refers to an object that it does not have")
	}
	return p.objects[at], nil
}

func (p *packObjects) find(id objectID) (packedObject, error) {
	index, known := p.byID[id]
	if !known {
		return packedObject{}, failure(exitContent, "the pack does not have the object %s", id)
	}
	return p.objects[index], nil
}

// keep appends the content of an object to the scratch file, and names it by its hash.
func (p *packObjects) keep(object *packedObject, write func(io.Writer) error) error {
	if p.end+object.size > scratchMax {
		return failure(exitContent, "the objects of the repository have more than %d bytes, the limit of a repository", int64(scratchMax))
	}
	digest := sha1.New()
	fmt.Fprintf(digest, "%s %d\x00", objectNames[object.kind], object.size)
	to := bufio.NewWriterSize(io.NewOffsetWriter(p.scratch, p.end), int(min(object.size+1, 64*1024)))
	if err := write(io.MultiWriter(to, digest)); err != nil {
		return err
	}
	if err := to.Flush(); err != nil {
		return failure(exitCannotCreate, "cannot write the objects of the repository: %s", err)
	}
	p.end += object.size
	p.byID[objectID(digest.Sum(nil))] = int32(len(p.objects))
	p.objects = append(p.objects, *object)
	return nil
}

func (p *packObjects) content(object packedObject) io.Reader {
	return io.NewSectionReader(p.scratch, object.at, object.size)
}

// read returns a small object.
func (p *packObjects) read(object packedObject, limit int64) ([]byte, error) {
	if object.size > limit {
		return nil, failure(exitContent, "a %s of the repository has %d bytes; the limit is %d", objectNames[object.kind], object.size, limit)
	}
	return io.ReadAll(p.content(object))
}

func copyExactly(into io.Writer, from io.Reader, size int64) error {
	_, err := io.CopyN(into, onlyReader{from}, size)
	return damaged(err)
}

// damaged tells what is wrong in a pack from what is wrong with the connection.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrDictionary) {
		return failure(exitContent, "an object of the pack is damaged: %s", err)
	}
	return err
}
