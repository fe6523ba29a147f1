import java.io.FileInputStream;
import java.net.Authenticator;
import java.net.InetSocketAddress;
import java.net.PasswordAuthentication;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * Posts JSON, and prints the answer. usage: java Ask.java [--proxy] URL JSON
 *
 * <p>Java reads neither HTTPS_PROXY nor a file of authorities: with --proxy this program does.
 */
class Ask {
    public static void main(String[] words) throws Exception {
        URI address = URI.create(words[words.length - 2]);
        HttpClient.Builder client = HttpClient.newBuilder();
        if (words[0].equals("--proxy") && address.getScheme().equals("https")) {
            useEnvironment(client);
        }
        HttpRequest request = HttpRequest.newBuilder(address)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(words[words.length - 1]))
            .build();
        HttpResponse<String> answer;
        try {
            answer = client.build().send(request, HttpResponse.BodyHandlers.ofString());
        } catch (java.io.IOException error) {
            System.err.println(error);
            System.exit(1);
            return;
        }
        System.out.println(answer.body());
        System.exit(answer.statusCode() < 400 ? 0 : 22);
    }

    private static void useEnvironment(HttpClient.Builder client) throws Exception {
        // Without this, Java sends no password to a proxy of https addresses.
        System.setProperty("jdk.http.auth.tunneling.disabledSchemes", "");
        URI proxy = URI.create(System.getenv("HTTPS_PROXY"));
        String[] login = proxy.getUserInfo().split(":", 2);
        client.proxy(ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort())));
        client.authenticator(new Authenticator() {
            @Override
            protected PasswordAuthentication getPasswordAuthentication() {
                return new PasswordAuthentication(login[0], login[1].toCharArray());
            }
        });
        String authorities = System.getenv("NODE_EXTRA_CA_CERTS");
        if (authorities != null) {
            client.sslContext(trusting(authorities));
        }
    }

    private static SSLContext trusting(String authorities) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (FileInputStream file = new FileInputStream(authorities)) {
            int number = 0;
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                store.setCertificateEntry("authority" + number++, one);
            }
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
