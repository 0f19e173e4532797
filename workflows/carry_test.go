package workflows

import (
	"embed"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/workflows/kyma"
	"github.com/kyma-project/lifecycle-manager/workflows/rollout"
	"github.com/kyma-project/lifecycle-manager/workflows/routing"
	"github.com/kyma-project/lifecycle-manager/workflows/sweep"
)

//go:embed testdata/carry
var carried embed.FS

// newCarry makes TestThePreviousReleaseCanReadWhatRunsCarry write the current types as new golden files.
var newCarry = flag.Bool("new-carry", false, "write what runs carry now into testdata, after a release")

// During a rolling update, a workflow's runs move between the new release and the previous one, in both directions.
// The files in testdata hold the types that runs carry in the previous release. Their fields must keep their names
// and types, so that the previous release can read what this one carries. A new field is fine: the previous release
// ignores it, and this release reads its absence as the zero value.
func TestThePreviousReleaseCanReadWhatRunsCarry(t *testing.T) {
	for name, input := range map[string]any{
		"kyma": &kyma.Input{}, "rollout": &rollout.Input{}, "routing": &routing.Input{}, "sweep": &sweep.Input{},
	} {
		t.Run(name, func(t *testing.T) {
			fill(reflect.ValueOf(input).Elem())
			encoded, err := json.MarshalIndent(input, "", "  ")
			require.NoError(t, err)
			file := "testdata/carry/" + name + ".json"
			if *newCarry {
				require.NoError(t, os.WriteFile(file, append(encoded, '\n'), 0o600))
				return
			}
			before, err := carried.ReadFile(file)
			require.NoError(t, err)
			var was, is map[string]any
			require.NoError(t, json.Unmarshal(before, &was))
			require.NoError(t, json.Unmarshal(encoded, &is))
			requireKept(t, name, was, is)

			// And the other direction: this release must read everything that the previous one carries.
			read := reflect.New(reflect.TypeOf(input).Elem()).Interface()
			decoder := json.NewDecoder(strings.NewReader(string(before)))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(read))
		})
	}
}

// requireKept fails if a field of the earlier value is missing in the current one or has another type.
func requireKept(t *testing.T, path string, was, is any) {
	t.Helper()
	require.IsType(t, was, is, path)
	switch was := was.(type) {
	case map[string]any:
		now, _ := is.(map[string]any)
		for key, value := range was {
			require.Contains(t, now, key, "%s.%s is no longer carried under this name", path, key)
			requireKept(t, path+"."+key, value, now[key])
		}
	case []any:
		now, _ := is.([]any)
		require.Len(t, now, len(was), path)
		for i := range was {
			requireKept(t, path, was[i], now[i])
		}
	case string:
		now, _ := is.(string)
		_, wasTime := time.Parse(time.RFC3339, was)
		_, isTime := time.Parse(time.RFC3339, now)
		require.Equal(t, wasTime == nil, isTime == nil, "%s is %q and was %q", path, now, was)
	}
}

// fill sets every exported field to a non-zero value.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)))
		return
	}
	if v.Type() == reflect.TypeFor[fault.Parts]() {
		parts := fault.Parts{}
		for _, part := range []fault.Part{
			fault.PartInvalid, fault.PartDefinitions, fault.PartCatalog, fault.PartPullSecret, fault.PartMove, fault.PartTemplates,
		} {
			var f fault.Fault
			fill(reflect.ValueOf(&f).Elem())
			parts[part] = f
		}
		v.Set(reflect.ValueOf(parts))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	default:
		panic("fill: " + v.Type().String() + " is none of the types that are carried so far")
	}
}
