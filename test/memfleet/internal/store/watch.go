package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// bookmarkEvery is how often watchers who ask for it get the revision.
const bookmarkEvery = time.Minute

// watcher is one watch of one client. Its goroutine lives as long as the client's request.
type watcher struct {
	storage *Storage
	cluster *Cluster
	prefix  string
	opts    storage.ListOptions
	result  chan watch.Event

	done chan struct{}
	once sync.Once

	mu     sync.Mutex
	queue  []Change
	wakeUp chan struct{}
}

// Watch implements storage.Interface.
func (s *Storage) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	c, prefix, err := s.at(ctx, key)
	if err != nil {
		return nil, err
	}
	if opts.Recursive && prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	from, err := s.versioner.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("parse the resource version: %w", err)
	}
	w := &watcher{
		storage: s, cluster: c, prefix: prefix, opts: opts,
		result: make(chan watch.Event, 16), done: make(chan struct{}), wakeUp: make(chan struct{}, 1),
	}
	whole := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	initial := whole || from == 0 && opts.SendInitialEvents == nil
	var there []*Record
	c.mu.Lock()
	if !c.logging {
		c.logging, c.logFrom = true, c.revision
	}
	revision := c.revision
	switch {
	case initial:
		there = append(there, within(c.objects[s.resource], prefix)...)
	case from > 0 && from < c.logFrom:
		c.mu.Unlock()
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, revision))
	case from > 0:
		for _, change := range c.log {
			if change.Revision > from {
				w.queue = append(w.queue, change)
			}
		}
	}
	if c.watchers == nil {
		c.watchers = map[*watcher]struct{}{}
	}
	c.watchers[w] = struct{}{}
	c.mu.Unlock()
	go w.run(ctx, there, whole, revision)
	return w, nil
}

// add takes a change in, under the cluster's lock.
func (w *watcher) add(change Change) {
	if change.Resource != w.storage.resource {
		return
	}
	w.mu.Lock()
	w.queue = append(w.queue, change)
	w.mu.Unlock()
	select {
	case w.wakeUp <- struct{}{}:
	default:
	}
}

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.once.Do(func() { close(w.done) }) }

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

func (w *watcher) run(ctx context.Context, there []*Record, whole bool, revision uint64) {
	defer close(w.result)
	defer func() {
		w.cluster.mu.Lock()
		defer w.cluster.mu.Unlock()
		delete(w.cluster.watchers, w)
	}()
	for _, r := range there {
		if !w.send(ctx, Change{Resource: w.storage.resource, After: r, Revision: r.revision}) {
			return
		}
	}
	if whole && !w.bookmark(ctx, revision, true) {
		return
	}
	ticker := time.NewTicker(bookmarkEvery)
	defer ticker.Stop()
	for {
		w.mu.Lock()
		changes := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, change := range changes {
			if change.Resource == w.storage.resource && !w.send(ctx, change) {
				return
			}
			revision = change.Revision
		}
		select {
		case <-ctx.Done():
			return
		case <-w.done:
			return
		case <-w.wakeUp:
		case <-ticker.C:
			if w.opts.Predicate.AllowWatchBookmarks && !w.bookmark(ctx, revision, false) {
				return
			}
		}
	}
}

// send sends a change, as far as it concerns what is watched. It returns false when the watch has ended.
func (w *watcher) send(ctx context.Context, change Change) bool {
	before, was := w.seen(change.Before, change.Revision)
	after, is := w.seen(change.After, change.Revision)
	event := watch.Event{Object: after}
	switch {
	case is && was:
		event.Type = watch.Modified
	case is:
		event.Type = watch.Added
	case was:
		// The object as it last was, with the revision of its end.
		event = watch.Event{Type: watch.Deleted, Object: before}
	default:
		return true
	}
	return w.emit(ctx, event)
}

// seen returns an object, and whether it is one of those that are watched.
func (w *watcher) seen(r *Record, revision uint64) (runtime.Object, bool) {
	if r == nil || !strings.HasPrefix(r.Key(), w.prefix) || !w.opts.Recursive && r.Key() != w.prefix {
		return nil, false
	}
	object, err := w.storage.restore(r, revision)
	if err != nil {
		return nil, false
	}
	ok, err := w.opts.Predicate.Matches(object)
	return object, err == nil && ok
}

func (w *watcher) bookmark(ctx context.Context, revision uint64, end bool) bool {
	object := w.storage.newFunc()
	if err := w.storage.versioner.UpdateObject(object, revision); err != nil {
		return false
	}
	if accessor, err := meta.Accessor(object); err == nil && end {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return w.emit(ctx, watch.Event{Type: watch.Bookmark, Object: object})
}

func (w *watcher) emit(ctx context.Context, event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-ctx.Done():
	case <-w.done:
	}
	return false
}
