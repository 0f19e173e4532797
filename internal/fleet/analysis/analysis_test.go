package analysis

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// serve returns a client of a server with this handler.
func serve(t *testing.T, answer http.HandlerFunc, changes ...func(*Options)) *Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	o := Options{URL: server.URL + "/prefix/", Timeout: 5 * time.Second}
	for _, change := range changes {
		change(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	return c
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func data(kind, result string) http.HandlerFunc {
	return says(http.StatusOK, fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result))
}

func TestAQueryGivesValues(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   []rollout.Sample
	}{
		"a scalar":         {data("scalar", `[1764133200.5,"0.25"]`), []rollout.Sample{{Value: 0.25}}},
		"one sample":       {data("vector", `[{"metric":{},"value":[1764133200,"7"]}]`), []rollout.Sample{{Value: 7}}},
		"several samples":  {data("vector", `[{"metric":{"__name__":"up","pod":"a"},"value":[1,"1"]},{"metric":{"pod":"b"},"value":[1,"+Inf"]}]`), []rollout.Sample{{Series: `up{pod="a"}`, Value: 1}, {Series: `{pod="b"}`, Value: math.Inf(1)}}},
		"no sample":        {data("vector", `[]`), []rollout.Sample{}},
		"one with warning": {says(http.StatusOK, `{"status":"success","warnings":["slow"],"data":{"resultType":"scalar","result":[1,"2"]}}`), []rollout.Sample{{Value: 2}}},
	} {
		samples, err := serve(t, c.answer).Query(t.Context(), "up")
		require.NoError(t, err, name)
		require.Equal(t, c.want, samples, name)
	}
	samples, err := serve(t, data("scalar", `[1,"NaN"]`)).Query(t.Context(), "up")
	require.NoError(t, err)
	require.True(t, math.IsNaN(samples[0].Value))
}

func TestErrorsDoNotContainTheAddress(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"an invalid query":    {says(http.StatusBadRequest, `{"status":"error","errorType":"bad_data","error":"parse error: unexpected end"}`), "query refused by Prometheus: parse error: unexpected end"},
		"a failing query":     {says(http.StatusUnprocessableEntity, `{"status":"error","errorType":"execution","error":"many-to-many"}`), "query refused by Prometheus: many-to-many"},
		"a slow query":        {says(http.StatusServiceUnavailable, `{"status":"error","errorType":"timeout","error":"query timed out"}`), "no answer from Prometheus: server error: 503"},
		"a refusal":           {says(http.StatusUnauthorized, "unauthorized"), "no answer from Prometheus: client error: 401"},
		"a failure":           {says(http.StatusBadGateway, "<html>"), "no answer from Prometheus: server error: 502"},
		"no JSON":             {says(http.StatusOK, "<html>"), "no answer from Prometheus: "},
		"a matrix":            {data("matrix", `[]`), "the query returns a matrix instead of a scalar or an instant vector"},
		"a text":              {data("string", `[1,"a"]`), "the answer of Prometheus is not a scalar or an instant vector"},
		"a histogram":         {data("vector", `[{"metric":{},"histogram":[1,{"count":"1","sum":"1","buckets":[]}]}]`), "the query returns a histogram"},
		"a long answer":       {data("vector", `["`+strings.Repeat("x", maxAnswer)+`"]`), "no answer from Prometheus: its answer is longer than 1024 KiB"},
		"a broken connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no answer from Prometheus: EOF"},
	} {
		samples, err := serve(t, c.answer).Query(t.Context(), "up")
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "127.0.0.1", name)
		require.Empty(t, samples, name)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, status) })
		_, err := c.Query(t.Context(), "up")
		require.EqualError(t, err, "no answer from Prometheus: it answers with a redirect, which is not followed")
	}
}

func TestAQueryToAHangingServerTimesOut(t *testing.T) {
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // without this the server would not notice that the client is gone
		<-r.Context().Done()
	}
	slowly := func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		_, _ = fmt.Fprint(w, `{"status":`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for _, answer := range []http.HandlerFunc{hangs, slowly} {
		c := serve(t, answer, func(o *Options) { o.Timeout = 50 * time.Millisecond })
		_, err := c.Query(t.Context(), "up")
		require.EqualError(t, err, "no answer from Prometheus within 50ms")

		c = serve(t, answer)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = c.Query(ctx, "up")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, "the caller's deadline comes first")
	}
}

func TestTheRequestHasTheQueryAndTheToken(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	var got *http.Request
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		got = r
		data("scalar", `[1,"1"]`)(w, r)
	}, func(o *Options) { o.TokenFile = token })

	_, err := c.Query(t.Context(), "up")
	require.ErrorContains(t, err, "no answer from Prometheus: read its token: ")
	for _, content := range []string{"", " \n", "two words"} {
		require.NoError(t, os.WriteFile(token, []byte(content), 0o600))
		_, err = c.Query(t.Context(), "up")
		require.EqualError(t, err, "no answer from Prometheus: its token file contains no token")
	}
	require.Nil(t, got)

	for _, content := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(token, []byte(content+"\n"), 0o600))
		_, err = c.Query(t.Context(), `up{a="b&c"}`)
		require.NoError(t, err)
		require.Equal(t, "Bearer "+content, got.Header.Get("Authorization"))
	}
	require.Equal(t, "/prefix/api/v1/query", got.URL.Path)
	require.Equal(t, `up{a="b&c"}`, got.Form.Get("query"))
	require.Equal(t, "5s", got.Form.Get("timeout"))
}

func TestAnAddressMustBeTheURLOfAServer(t *testing.T) {
	for _, address := range []string{"http://prometheus:9090", "https://prometheus.example.com/prefix/", "http://[::1]:9090"} {
		require.NoError(t, Check(address), address)
	}
	for _, address := range []string{"", "prometheus:9090", "/prometheus", "ftp://prometheus", "http://", "http://:9090", "http://user:secret@prometheus", "http://a?b=c", "http://a#b", "http://a b:secret"} {
		require.Error(t, Check(address), address)
		require.NotContains(t, Check(address).Error(), "secret")
		_, err := New(Options{URL: address})
		require.Error(t, err)
	}
	c, err := New(Options{URL: "http://prometheus:9090"})
	require.NoError(t, err)
	require.Equal(t, DefaultTimeout, c.timeout)
}
