package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// A file is an entry of an archive or of an image.
type file struct {
	name    string // with slashes; that of a folder ends with one
	mode    int64
	owner   int
	content []byte
}

// A pack writes files into a tar archive. Everything that depends on where and when it runs is left out: owners have no
// names, and all files have the time of the commit.
func pack(w io.Writer, files []file, at time.Time) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// beside are the files of the project that an archive has beside the command; those of a folder, all of them.
var beside = []string{"CHANGELOG.md", "LICENSE", "README.md", "cmd/bailiff/packaging"}

// writeArchive writes the archive of a build: one folder with the command, its licence and the files for packaging.
func writeArchive(b build, tree tree, name string) error {
	root := b.name() + "/"
	files := []file{{name: root, mode: 0o755}, {name: root + "bailiff", mode: 0o755, content: b.binary}}
	for _, source := range beside {
		more, err := filesOf(tree.dir, source, root+path.Base(source))
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	var archive bytes.Buffer
	compress := gzip.NewWriter(&archive) // its header has no time and no name
	if err := pack(compress, files, tree.at); err != nil {
		return err
	}
	if err := compress.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, archive.Bytes(), 0o644)
}

// filesOf returns a file, or all files of a folder in the order of their names, under the name that they have in an archive.
func filesOf(dir, source, name string) (files []file, err error) {
	from := filepath.Join(dir, filepath.FromSlash(source))
	err = filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		f := file{name: path.Join(name, filepath.ToSlash(below)), mode: 0o644}
		info, err := os.Stat(at) // a link to a file of the project is archived as that file
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			f.name, f.mode = f.name+"/", 0o755
		case info.Mode().IsRegular():
			if f.content, err = os.ReadFile(at); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a folder", at)
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// writeSums writes the checksums of all files of a folder as sha256sum -c reads them, and returns the names of all files.
func writeSums(out string) ([]string, error) {
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	var names []string
	var sums bytes.Buffer
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(out, entry.Name()))
		if err != nil {
			return nil, err
		}
		names = append(names, entry.Name())
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return slices.Concat(names, []string{marker}), os.WriteFile(filepath.Join(out, marker), sums.Bytes(), 0o644)
}
