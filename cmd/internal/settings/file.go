package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// ReadFile sets flags from a YAML file with their names as keys. A flag that was given on the command line keeps its
// value, also if the file uses another name of the flag.
func ReadFile(set *pflag.FlagSet, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := read(set, content); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func read(set *pflag.FlagSet, content []byte) error {
	var given map[string]json.RawMessage
	if err := yaml.UnmarshalStrict(content, &given); err != nil {
		return err
	}
	onCommandLine := changed(set)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		flag := set.Lookup(name)
		if flag == nil || name == "config" || name == "help" {
			return fmt.Errorf("%s: unknown setting", name)
		}
		values, err := valuesFor(flag, given[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if flag.Changed {
			continue
		}
		if err := assign(set, flag, values); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return restore(set, onCommandLine)
}

// Take sets flags to the values that the leader of an instance has recorded, each as one text. Flags that were given on
// the command line or in the file keep their values. Unknown settings belong to another release and are ignored.
func Take(set *pflag.FlagSet, recorded map[string]string) error {
	given := changed(set)
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		flag := set.Lookup(name)
		if flag == nil || flag.Changed || IsIgnored(flag) {
			continue
		}
		values := []string{recorded[name]}
		if _, ok := flag.Value.(pflag.SliceValue); ok {
			values = strings.FieldsFunc(recorded[name], func(r rune) bool { return r == ',' })
		}
		if err := assign(set, flag, values); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return restore(set, given)
}

// restore sets given flags again, because another name of one of them may have been set in between.
func restore(set *pflag.FlagSet, given map[string][]string) error {
	for name, values := range given {
		if err := assign(set, set.Lookup(name), values); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// changed returns the values of the flags that were given.
func changed(set *pflag.FlagSet) map[string][]string {
	given := map[string][]string{}
	set.Visit(func(flag *pflag.Flag) {
		given[flag.Name] = []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			given[flag.Name] = list.GetSlice()
		}
	})
	return given
}

func assign(set *pflag.FlagSet, flag *pflag.Flag, values []string) error {
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return set.Set(flag.Name, values[0])
	}
	// A list is replaced as it is, whatever its values contain. Setting it first marks it as given.
	if err := set.Set(flag.Name, ""); err != nil {
		return err
	}
	return list.Replace(values)
}

var (
	errWantsText     = errors.New("must be text")
	errWantsNumber   = errors.New("must be a number")
	errWantsBool     = errors.New("must be true or false")
	errWantsDuration = errors.New("must be a duration such as 5m")
	errWantsList     = errors.New("must be a list of texts")
)

// valuesFor returns the values for a flag in a document: one, or those of a list. Their type must match the flag's.
func valuesFor(flag *pflag.Flag, raw json.RawMessage) ([]string, error) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	truth, isBool := value.(bool)
	kind := flag.Value.Type()
	switch {
	case IsIgnored(flag) && value != nil:
		return []string{strings.Trim(string(raw), `"`)}, nil
	case kind == "bool":
		return []string{fmt.Sprint(truth)}, unless(isBool, errWantsBool)
	case kind == "duration":
		return []string{text}, unless(isText, errWantsDuration)
	case strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "float"):
		return []string{number.String()}, unless(isNumber, errWantsNumber)
	case kind == "stringSlice":
		items, isList := value.([]any)
		texts := make([]string, 0, len(items))
		for _, item := range items {
			text, isText := item.(string)
			isList = isList && isText
			texts = append(texts, text)
		}
		return texts, unless(isList, errWantsList)
	}
	return []string{text}, unless(isText, errWantsText)
}

func unless(right bool, err error) error {
	if right {
		return nil
	}
	return err
}
