import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.CombinedFieldQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.QueryBuilder;

/**
 * Answers queries with Lucene, for benchmarks/lucene.py.
 *
 * <p>Arguments: documents, queries, depth, classes of analyzers and settings, both with commas between them. The first line of the
 * documents names the columns, the first is the id. A setting is k1:b:FIELD=WEIGHT+FIELD=WEIGHT…; one field is searched
 * as QueryBuilder does, several as one text by CombinedFieldQuery (BM25F). Prints a line for each analyzer, setting and
 * query: these, and the ids of the documents, best first, separated by tabs.
 */
public class LuceneSearch {
  record Setting(String name, float k1, float b, Map<String, Float> fields) {
    static Setting of(String text) {
      String[] parts = text.split(":");
      Map<String, Float> fields = new LinkedHashMap<>();
      for (String field : parts[2].split("\\+")) {
        String[] pair = field.split("=");
        fields.put(pair[0], Float.valueOf(pair[1]));
      }
      return new Setting(text, Float.parseFloat(parts[0]), Float.parseFloat(parts[1]), fields);
    }

    Query query(Analyzer analyzer, String text) throws IOException {
      if (fields.size() == 1) {
        return new QueryBuilder(analyzer).createBooleanQuery(fields.keySet().iterator().next(), text, Occur.SHOULD);
      }
      BooleanQuery.Builder all = new BooleanQuery.Builder();
      try (TokenStream tokens = analyzer.tokenStream("any", text)) {
        CharTermAttribute term = tokens.addAttribute(CharTermAttribute.class);
        tokens.reset();
        while (tokens.incrementToken()) {
          CombinedFieldQuery.Builder one = new CombinedFieldQuery.Builder(term.toString());
          fields.forEach(one::addField);
          all.add(one.build(), Occur.SHOULD);
        }
        tokens.end();
      }
      return all.build();
    }
  }

  public static void main(String[] args) throws Exception {
    List<String> documents = Files.readAllLines(Path.of(args[0]));
    List<String> queries = Files.readAllLines(Path.of(args[1]));
    int depth = Integer.parseInt(args[2]);
    List<Setting> settings = new ArrayList<>();
    for (String text : args[4].split(",")) settings.add(Setting.of(text));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String name : args[3].split(",")) {
      Analyzer analyzer = (Analyzer) Class.forName("org.apache.lucene.analysis." + name).getConstructor().newInstance();
      ByteBuffersDirectory directory = new ByteBuffersDirectory();
      index(documents, directory, analyzer);
      IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(directory));
      for (Setting setting : settings) {
        searcher.setSimilarity(new BM25Similarity(setting.k1, setting.b));
        for (String line : queries) {
          String[] columns = line.split("\t", 2);
          out.print(name + "\t" + setting.name + "\t" + columns[0]);
          Query query = setting.query(analyzer, columns[1]);
          if (query != null) {
            for (ScoreDoc hit : searcher.search(query, depth).scoreDocs) {
              out.print("\t" + searcher.storedFields().document(hit.doc).get("id"));
            }
          }
          out.println();
        }
      }
    }
    out.flush();
  }

  static void index(List<String> lines, ByteBuffersDirectory directory, Analyzer analyzer) throws IOException {
    String[] names = lines.get(0).split("\t");
    try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(analyzer))) {
      for (String line : lines.subList(1, lines.size())) {
        String[] columns = line.split("\t", -1);
        Document document = new Document();
        document.add(new StoredField("id", columns[0]));
        for (int i = 1; i < names.length; i++) document.add(new TextField(names[i], columns[i], Field.Store.NO));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }
}
