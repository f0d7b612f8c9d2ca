package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// compressed writes the output of write as one gzip stream.
func compressed(write func(io.Writer) error) func(io.Writer) error {
	return func(into io.Writer) error {
		packed, _ := gzip.NewWriterLevel(into, gzip.BestSpeed)
		if err := write(packed); err != nil {
			return err
		}
		return packed.Close()
	}
}

func decompressed(from io.Reader, isGzip bool) (io.Reader, error) {
	if !isGzip {
		return from, nil
	}
	unpacked, err := gzip.NewReader(bufio.NewReaderSize(from, 64*1024))
	if err != nil {
		return nil, notAnArchive(err)
	}
	return unpacked, nil
}

// pack writes a folder as a tar stream. Links must stay within the folder, and other special files are refused: a
// consumer could not have them. Owners are left out, and permissions are those that everybody has.
func pack(folder string, into io.Writer) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return failure(exitNoInput, "cannot read the folder %s: %s", folder, err)
	}
	defer root.Close()
	archive := tar.NewWriter(into)
	entries := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, found fs.DirEntry, err error) error {
		if err != nil {
			return failure(exitNoInput, "cannot read %s in %s: %s", name, folder, err)
		}
		if name == "." {
			return nil
		}
		if entries++; entries > entriesMax {
			return failure(exitContent, "the folder %s has more than %d entries: store it as one file, such as a tar file", folder, entriesMax)
		}
		return packEntry(root, name, archive)
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func packEntry(root *os.Root, name string, archive *tar.Writer) error {
	about, err := root.Lstat(name)
	if err != nil {
		return failure(exitNoInput, "cannot read %s: %s", name, err)
	}
	header := &tar.Header{Name: name, ModTime: about.ModTime().Truncate(1e9), Mode: 0o644}
	switch mode := about.Mode(); {
	case mode.IsDir():
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, name+"/", 0o755
		return archive.WriteHeader(header)
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		if err != nil {
			return failure(exitNoInput, "cannot read the link %s: %s", name, err)
		}
		if err := checkLink(name, target); err != nil {
			return err
		}
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, target, 0o777
		return archive.WriteHeader(header)
	case mode.IsRegular():
		if mode&0o111 != 0 {
			header.Mode = 0o755
		}
		return packFile(root, name, header, archive)
	default:
		return failure(exitContent, "%s is neither a file, a folder nor a link: remove it from the output", name)
	}
}

func packFile(root *os.Root, name string, header *tar.Header, archive *tar.Writer) error {
	file, err := root.Open(name)
	if err != nil {
		return failure(exitNoInput, "cannot read %s: %s", name, err)
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return failure(exitNoInput, "cannot read %s: %s", name, err)
	}
	header.Typeflag, header.Size = tar.TypeReg, about.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	copied, err := io.CopyN(archive, onlyReader{file}, about.Size())
	if errors.Is(err, io.EOF) {
		return failure(exitNoInput, "%s became shorter while it was stored (%d of %d bytes)", name, copied, about.Size())
	}
	return readOrWrite(name, err)
}

// checkLink refuses a link that leaves the folder. Its target must be in the shortest form: with a `..` after a name,
// the target depends on what the name is.
func checkLink(name, target string) error {
	if target == "" || path.IsAbs(target) || path.Clean(target) != strings.TrimSuffix(target, "/") {
		return failure(exitContent, "the link %s points to %q: use a relative target in its shortest form, within the folder", name, target)
	}
	if !within(path.Join(path.Dir(name), target)) {
		return failure(exitContent, "the link %s points to %q, which is outside the folder", name, target)
	}
	return nil
}

// within reports whether a clean path stays in its folder.
func within(name string) bool {
	return name != ".." && !strings.HasPrefix(name, "../") && !path.IsAbs(name)
}
