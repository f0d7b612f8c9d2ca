package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

const depthMax = 256

// budget is how much more an input may unpack to.
type budget struct {
	bytes   int64
	entries int
}

func (b *budget) takeBytes(count int64) error {
	if b.bytes -= count; b.bytes < 0 {
		return failure(exitContent, "the content has more than %d bytes, the limit of an input", int64(unpackedMax))
	}
	return nil
}

func (b *budget) takeEntry() error {
	if b.entries--; b.entries < 0 {
		return failure(exitContent, "the folder has more than %d entries, the limit of an input", entriesMax)
	}
	return nil
}

func notAnArchive(err error) error {
	var known *toolError
	var failed *transferError
	if errors.As(err, &known) || errors.As(err, &failed) {
		return err
	}
	return failure(exitContent, "the content is not what its kind says: %s", err)
}

// writeStream writes a file. Ranges of zeros become holes, so a sparse file takes no more than it did.
func writeStream(from io.Reader, target string, limit *budget) error {
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return failure(exitCannotCreate, "cannot create %s: %s", target, err)
	}
	defer file.Close()
	return fill(file, from, limit)
}

var zeros [64 * 1024]byte

func fill(file *os.File, from io.Reader, limit *budget) error {
	buffer, size := make([]byte, len(zeros)), int64(0)
	for {
		count, err := io.ReadFull(from, buffer)
		if taken := limit.takeBytes(int64(count)); taken != nil {
			return taken
		}
		piece := buffer[:count]
		size += int64(count)
		if bytes.Equal(piece, zeros[:count]) {
			if _, err := file.Seek(int64(count), io.SeekCurrent); err != nil {
				return failure(exitCannotCreate, "cannot write %s: %s", file.Name(), err)
			}
		} else if _, err := file.Write(piece); err != nil {
			return failure(exitCannotCreate, "cannot write %s: %s", file.Name(), err)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return notAnArchive(err)
		}
	}
	if err := file.Truncate(size); err != nil {
		return failure(exitCannotCreate, "cannot write %s: %s", file.Name(), err)
	}
	return nil
}

// unpack writes the entries of a tar stream into a new folder, and nothing outside of it: no name leaves the folder, no
// entry is written through a link, and no link leaves the folder. The stream comes from another pod.
func unpack(from io.Reader, folder string, limit *budget) error {
	if err := os.Mkdir(folder, 0o777); err != nil {
		return failure(exitCannotCreate, "cannot create %s: %s", folder, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return failure(exitCannotCreate, "cannot open %s: %s", folder, err)
	}
	defer root.Close()
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return notAnArchive(err)
		}
		if err := unpackEntry(root, header, archive, limit); err != nil {
			return err
		}
	}
	return discard(from, limit)
}

// discard reads what follows the end of an archive, because it has a digest too. Compressed, it can be terabytes.
func discard(from io.Reader, limit *budget) error {
	buffer := make([]byte, len(zeros))
	for {
		count, err := from.Read(buffer)
		if taken := limit.takeBytes(int64(count)); taken != nil {
			return taken
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return notAnArchive(err)
		}
	}
}

func unpackEntry(root *os.Root, header *tar.Header, content io.Reader, limit *budget) error {
	if err := limit.takeEntry(); err != nil {
		return err
	}
	name := strings.TrimSuffix(header.Name, "/")
	if name == "." {
		return nil
	}
	if name == "" || path.Clean(name) != name || !within(name) || strings.Count(name, "/") >= depthMax {
		return failure(exitContent, "the entry %q leaves its folder, or is not in the shortest form", header.Name)
	}
	if err := makeParents(root, name); err != nil {
		return err
	}
	var err error
	switch header.Typeflag {
	case tar.TypeDir:
		err = makeFolder(root, name)
	case tar.TypeSymlink:
		if err := checkLink(name, header.Linkname); err != nil {
			return err
		}
		err = root.Symlink(header.Linkname, name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return unpackFile(root, name, header, content, limit)
	default:
		return failure(exitContent, "the entry %q is neither a file, a folder nor a symbolic link", header.Name)
	}
	if err != nil {
		return failure(exitCannotCreate, "cannot create %q: %s", name, err)
	}
	return nil
}

// makeParents creates the folders of an entry. One that is a link would lead elsewhere.
func makeParents(root *os.Root, name string) error {
	for at := range len(name) {
		if name[at] != '/' {
			continue
		}
		if err := makeFolder(root, name[:at]); err != nil {
			return failure(exitContent, "the entry %q: %s is not a folder: %s", name, name[:at], err)
		}
	}
	return nil
}

var errNoFolder = errors.New("it is a file or a link")

func makeFolder(root *os.Root, name string) error {
	err := root.Mkdir(name, 0o777)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	about, err := root.Lstat(name)
	if err == nil && !about.IsDir() {
		err = errNoFolder
	}
	return err
}

func unpackFile(root *os.Root, name string, header *tar.Header, content io.Reader, limit *budget) error {
	mode := fs.FileMode(0o666)
	if header.Mode&0o111 != 0 {
		mode = 0o777
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return failure(exitContent, "cannot create %q: %s", name, err)
	}
	defer file.Close()
	if err := fill(file, content, limit); err != nil {
		return err
	}
	if err := root.Chtimes(name, header.ModTime, header.ModTime); err != nil {
		return failure(exitCannotCreate, "cannot set the time of %q: %s", name, err)
	}
	return nil
}
